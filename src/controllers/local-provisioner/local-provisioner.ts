// Provisions volumes that are directories of nodes, for claims of storage classes with this
// provisioner, and creates such a class as the default of every cluster. An expansion changes
// recorded sizes only. Volumes are deleted with their claims, once the node has removed the
// directory.
//
// It is off on an API server without its role (rights.ts), as those of other makers are.
//
// The provisioner reaches nodes through the API server's proxy. A simulated node has nothing to
// remove.

import {
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type StorageClass, storageClasses } from '#api/groups/storage/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { retriedOnConflict } from '../retried-on-conflict.ts';
import {
  BETA_STORAGE_PROVISIONER,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from '../persistent-volume/names.ts';
import { classOfClaim, defaultClass } from '../persistent-volume/storage-classes.ts';
import { grownClaim, grownVolume, growingClaim, wantsToGrow } from './growth.ts';
import {
  directoryOf,
  finalizersOf,
  isOurs,
  isToBeRemoved,
  newLocalVolume,
  objection,
  volumeNameFor,
  withoutFinalizer,
} from './local-volume.ts';
import { waitForRights } from './rights.ts';
import { DEFAULT_CLASS, LOCAL_VOLUMES, PROVISIONER, VOLUME_NODE } from './names.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadVolume = Immutable<PersistentVolume>;
type ReadClass = Immutable<StorageClass>;
type ReadNode = Immutable<Node>;

const BY_NODE = 'local-volume-node';
const BY_CLASS = 'storage-class';
/** The node's response for a removed directory. */
const REMOVED = 'ok';

export class LocalProvisioner implements Controller {
  readonly name = 'local-provisioner-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #volumes: SharedInformer<ReadVolume>;
  readonly #classes: SharedInformer<ReadClass>;
  readonly #nodes: SharedInformer<ReadNode>;
  readonly #recorder: EventRecorder;
  /** By UID: the last recorded reason why a claim has no volume. */
  readonly #recordedReasons = new Map<string, string>();

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'local_provisioner_claims',
      workers: 5,
      reconcile: (key, signal) => this.#reconcileClaim(key, signal),
    });
    const volumeQueue = builder.addQueue({
      queue: 'local_provisioner_volumes',
      workers: 5,
      reconcile: (name, signal) => this.#reconcileVolume(name, signal),
    });
    const classQueue = builder.addQueue({
      queue: 'local_provisioner_classes',
      workers: 1,
      reconcile: (name, signal) => this.#createClass(name, signal),
    });
    this.#recorder = builder.recorder(PROVISIONER);
    this.#claims = builder.for(persistentVolumeClaims, {
      indexers: { [BY_CLASS]: (claim) => [classOfClaim(claim)] },
      predicate: { delete: false },
      onGone: ({ metadata }) => void this.#recordedReasons.delete(metadata.uid),
    });
    const ours = { ...only(isOurs), delete: false } as const;
    const enqueue = (name: string): void => volumeQueue.add(name);
    this.#volumes = builder.watches(persistentVolumes, ({ metadata }) => metadata.name, {
      indexers: { [BY_NODE]: ({ metadata }) => [metadata.annotations?.[VOLUME_NODE] ?? ''] },
      predicate: ours,
      enqueue,
    });
    builder.watches(persistentVolumes, claimKeyOf, { predicate: ours });
    this.#classes = builder.watches(
      storageClasses,
      ({ metadata }) => this.#claims.lister.byIndex(BY_CLASS, metadata.name).map(objectKey),
      { predicate: { ...only(({ provisioner }) => provisioner === PROVISIONER), delete: false } },
    );
    this.#nodes = builder.watches(nodes, (node) => this.#volumesToRemoveOn(node), {
      predicate: { add: false, update: (before, node) => !isReady(before) && isReady(node) },
      enqueue,
    });
    // Once per run: if a user deletes the class, or removes its default annotation, it is not
    // restored.
    builder.alongside(async () => classQueue.add(DEFAULT_CLASS));
    const run = builder.complete();
    this.run = async (signal) => {
      await waitForRights(config, signal);
      if (!signal.aborted) await run(signal);
    };
  }

  #volumesToRemoveOn({ metadata }: ReadNode): readonly string[] {
    const volumes = this.#volumes.lister.byIndex(BY_NODE, metadata.name).filter(isToBeRemoved);
    return volumes.map((volume) => volume.metadata.name);
  }

  async #createClass(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    if (this.#classes.lister.get('', name) !== undefined) return reconciled;
    // Another default class is kept.
    const isDefault = defaultClass(this.#classes.lister.list()) === undefined;
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    const wanted = {
      metadata: { name, ...(isDefault && { annotations }) },
      provisioner: PROVISIONER,
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    } as const;
    try {
      await this.#config.client.resource(storageClasses).create(wanted, { signal });
    } catch (error) {
      if (!apierrors.isAlreadyExists(error)) throw error;
    }
    return reconciled;
  }

  async #reconcileClaim(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const claim = this.#claims.lister.getByKey(key);
    if (claim === undefined) return reconciled;
    const { volumeName } = claim.spec;
    return await retriedOnConflict(
      volumeName === undefined
        ? this.#provision(claim, signal)
        : this.#grow(claim, volumeName, signal),
    );
  }

  async #provision(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { annotations = {}, deletionTimestamp, namespace = '', name } = claim.metadata;
    const asked = annotations[STORAGE_PROVISIONER] ?? annotations[BETA_STORAGE_PROVISIONER];
    const storageClass = this.#classes.lister.get('', classOfClaim(claim));
    if (
      asked !== PROVISIONER ||
      storageClass?.provisioner !== PROVISIONER ||
      deletionTimestamp !== undefined
    )
      return;
    const volumeName = volumeNameFor(claim);
    if (this.#volumes.lister.get('', volumeName) !== undefined) return;
    const selected = annotations[SELECTED_NODE] ?? '';
    if (selected === '') {
      // The scheduler will select a node, if the class requires it.
      if (storageClass.volumeBindingMode === 'WaitForFirstConsumer') return;
      return this.#recordFailure(
        claim,
        storageClass,
        'no node was selected: it takes the volumeBindingMode WaitForFirstConsumer',
      );
    }
    const why = objection(claim, storageClass);
    if (why !== undefined) return this.#recordFailure(claim, storageClass, why);
    const node = this.#nodes.lister.get('', selected) ?? (await this.#liveNode(selected, signal));
    if (node === undefined) {
      this.#recordFailure(
        claim,
        storageClass,
        `failed to get target node: nodes "${selected}" not found`,
      );
      return await this.#unselect(claim, signal);
    }
    const directory = directoryOf(node);
    if (directory === undefined) {
      return this.#recordFailure(
        claim,
        storageClass,
        `node "${selected}" makes no directories for volumes`,
      );
    }
    const message = `External provisioner is provisioning volume for claim "${namespace}/${name}"`;
    this.#recorder.event(regardingClaim(claim), 'Normal', 'Provisioning', message);
    try {
      const volume = newLocalVolume(claim, storageClass, node, directory);
      await this.#config.client.resource(persistentVolumes).create(volume, { signal });
    } catch (error) {
      // The name contains the claim's UID, so this provisioner created the volume earlier.
      if (apierrors.isAlreadyExists(error)) return;
      if (!signal.aborted) this.#recordFailure(claim, storageClass, errorMessage(error));
      throw error;
    }
    this.#recorder.event(
      regardingClaim(claim),
      'Normal',
      'ProvisioningSucceeded',
      `Successfully provisioned volume ${volumeName}`,
    );
  }

  /** Removes the selected node from the claim, so that the scheduler selects another one. */
  async #unselect(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { [SELECTED_NODE]: _, ...annotations } = claim.metadata.annotations ?? {};
    const { namespace = '' } = claim.metadata;
    const inNamespace = this.#config.client.resource(persistentVolumeClaims).namespace(namespace);
    await inNamespace.update(
      { ...claim, metadata: { ...claim.metadata, annotations } },
      { signal },
    );
  }

  #recordFailure(claim: ReadClaim, { metadata }: ReadClass, why: string): void {
    const message = `failed to provision volume with StorageClass "${metadata.name}": ${why}`;
    if (this.#recordedReasons.get(claim.metadata.uid) === message) return;
    this.#recordedReasons.set(claim.metadata.uid, message);
    this.#recorder.event(regardingClaim(claim), 'Warning', 'ProvisioningFailed', message);
  }

  async #grow(claim: ReadClaim, volumeName: string, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#config;
    const volume = this.#volumes.lister.get('', volumeName);
    if (volume === undefined || !isOurs(volume) || !wantsToGrow(claim, volume)) return;
    const inNamespace = client
      .resource(persistentVolumeClaims)
      .namespace(claim.metadata.namespace ?? '');
    let current = claim;
    const growing = growingClaim(claim, formatTime(clock.now()));
    if (growing !== claim) {
      current = await inNamespace.updateStatus(growing, { signal });
      const message = `External resizer is resizing volume ${volumeName}`;
      this.#recorder.event(regardingClaim(claim), 'Normal', 'Resizing', message);
    }
    let grown = grownVolume(volume, claim);
    if (grown !== volume)
      grown = await client.resource(persistentVolumes).update(grown, { signal });
    await inNamespace.updateStatus(grownClaim(current, grown), { signal });
    this.#recorder.event(
      regardingClaim(claim),
      'Normal',
      'VolumeResizeSuccessful',
      'Resize volume succeeded',
    );
  }

  async #reconcileVolume(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const volume = this.#volumes.lister.getByKey(key);
    if (volume === undefined || !isOurs(volume)) return reconciled;
    return await retriedOnConflict(
      isToBeRemoved(volume)
        ? this.#remove(volume, signal)
        : this.#setFinalizers(volume, finalizersOf(volume), signal),
    );
  }

  /** Removes the directory, then the volume. */
  async #remove(volume: ReadVolume, signal: AbortSignal): Promise<void> {
    const { name, uid, deletionTimestamp } = volume.metadata;
    const client = this.#config.client.resource(persistentVolumes);
    // The cache may be stale, and the claim may exist.
    const live = await client.get(name, { signal });
    if (live.metadata.uid !== uid || !isToBeRemoved(live)) return;
    try {
      await this.#removeDirectory(live, signal);
    } catch (error) {
      if (!signal.aborted) {
        const regarding = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: volume.metadata };
        this.#recorder.event(regarding, 'Warning', 'VolumeFailedDelete', errorMessage(error));
      }
      throw error;
    }
    if (deletionTimestamp === undefined)
      await client.delete(name, { preconditions: { uid }, signal });
    const deleted = await client.get(name, { signal });
    if (deleted.metadata.uid !== uid) return;
    await this.#setFinalizers(deleted, withoutFinalizer(deleted.metadata.finalizers ?? []), signal);
  }

  async #removeDirectory({ metadata }: ReadVolume, signal: AbortSignal): Promise<void> {
    const nodeName = metadata.annotations?.[VOLUME_NODE] ?? '';
    if (nodeName === '')
      throw new Error(
        `the volume does not say on which node it is: it has no annotation ${VOLUME_NODE}`,
      );
    const node = this.#nodes.lister.get('', nodeName) ?? (await this.#liveNode(nodeName, signal));
    // Directories of a deleted node are gone with it; simulated nodes have none.
    if (node === undefined || node.metadata.annotations?.[LOCAL_VOLUMES] === '') return;
    const path = `/api/v1/nodes/${nodeName}/proxy/localVolumes/${metadata.name}`;
    const answer = (
      await this.#config.client.transport.text({ method: 'DELETE', path, signal })
    ).trim();
    if (answer !== REMOVED)
      throw new Error(`node "${nodeName}" has not removed the directory: ${answer}`);
  }

  async #setFinalizers(
    volume: ReadVolume,
    wanted: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { finalizers: present = [], ...metadata } = volume.metadata;
    if (wanted.length === present.length) return;
    const changed = {
      ...volume,
      metadata: { ...metadata, ...(wanted.length > 0 && { finalizers: wanted }) },
    };
    await this.#config.client.resource(persistentVolumes).update(changed, { signal });
  }

  async #liveNode(name: string, signal: AbortSignal): Promise<ReadNode | undefined> {
    return apierrors.unlessMissing(this.#config.client.resource(nodes).get(name, { signal }));
  }
}

function regardingClaim({ metadata }: ReadClaim) {
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata };
}

function isReady({ status }: ReadNode): boolean {
  return status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}

/** Returns the key of the claim to which the volume is bound. */
function claimKeyOf({ spec }: ReadVolume): string {
  const { namespace = '', name = '' } = spec.claimRef ?? {};
  return `${namespace}/${name}`;
}
