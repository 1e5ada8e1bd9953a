// Creates volumes of a CSI driver for claims of its storage classes, and deletes them with the claims:
// the part of the external-provisioner sidecar, with its events.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type StorageClass,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
  volumeAttributesClasses,
} from '#api/groups/storage/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import type { CsiInput } from '#csi/schema.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { isRpcError } from '#machinery/grpc/rpc-error.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller } from '../controller.ts';
import {
  BETA_STORAGE_PROVISIONER,
  PROVISIONED_BY,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from '../persistent-volume/names.ts';
import { classOfClaim, waitsForConsumer } from '../persistent-volume/storage-classes.ts';
import { classParameters } from './class-parameters.ts';
import type { CsiControllerConfig } from './csi-config.ts';
import type { ControllerCapability } from './csi-controller-service.ts';
import { DriverNodes } from './driver-nodes.ts';
import {
  createRequest,
  deletionSecret,
  newVolume,
  PROVISIONER_FINALIZER,
  type VolumeRequest,
} from './new-volume.ts';
import { finalizersPatch, MERGE_PATCH } from './patches.ts';
import { secretValues } from './secrets.ts';
import { snapshotNameOf, snapshotSource, sourceContent } from './snapshot-source.ts';
import { SNAPSHOT_NODE } from './snapshots/index.ts';
import { isAllowed, requirementFor } from './topology.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadVolume = Immutable<PersistentVolume>;

const BY_CLASS = 'storage-class';

export class CsiProvisioner implements Controller {
  readonly name = 'csi-provisioner';
  readonly run: Controller['run'];
  readonly #config: CsiControllerConfig;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #volumes: SharedInformer<ReadVolume>;
  readonly #classes: SharedInformer<Immutable<StorageClass>>;
  readonly #nodes: DriverNodes;
  readonly #attachments: SharedInformer<Immutable<VolumeAttachment>>;
  readonly #recorder: EventRecorder;

  constructor(config: CsiControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'csi_provisioner_claims',
      workers: 5,
      reconcile: (key, signal) => this.#reconcileClaim(key, signal),
    });
    const volumeQueue = builder.addQueue({
      queue: 'csi_provisioner_volumes',
      workers: 5,
      reconcile: (key, signal) => this.#reconcileVolume(key, signal),
    });
    this.#recorder = builder.recorder(config.driver);
    this.#claims = builder.for(persistentVolumeClaims, {
      indexers: { [BY_CLASS]: (claim) => [classOfClaim(claim)] },
      predicate: { delete: false },
    });
    this.#volumes = builder.watches(persistentVolumes, ({ metadata }) => metadata.name, {
      predicate: { ...only((volume: ReadVolume) => this.#isOurs(volume)), delete: false },
      enqueue: (name) => volumeQueue.add(name),
    });
    this.#attachments = builder.watches(
      volumeAttachments,
      ({ spec }) => spec.source.persistentVolumeName ?? [],
      {
        predicate: { add: false, update: () => false },
        enqueue: (name) => volumeQueue.add(name),
      },
    );
    this.#classes = builder.watches(
      storageClasses,
      ({ metadata }) => this.#claims.lister.byIndex(BY_CLASS, metadata.name).map(objectKey),
      { predicate: { delete: false } },
    );
    this.#nodes = new DriverNodes(builder, config);
    this.run = builder.complete();
  }

  /**
   * Reports whether the volume is one that this provisioner has to delete. A volume that a user has
   * made names its driver only in its source.
   */
  #isOurs(volume: ReadVolume): boolean {
    const { driver } = this.#config;
    const provisioner = volume.metadata.annotations?.[PROVISIONED_BY] ?? volume.spec.csi?.driver;
    return provisioner === driver && this.#nodes.hasVolume(volume);
  }

  async #reconcileClaim(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const claim = this.#claims.lister.getByKey(key);
    if (claim === undefined) return reconciled;
    const { annotations = {}, deletionTimestamp, namespace = '', name } = claim.metadata;
    const asked = annotations[STORAGE_PROVISIONER] ?? annotations[BETA_STORAGE_PROVISIONER];
    const storageClass = this.#classes.lister.get('', classOfClaim(claim));
    if (
      asked !== this.#config.driver ||
      storageClass?.provisioner !== this.#config.driver ||
      deletionTimestamp !== undefined ||
      claim.spec.volumeName !== undefined
    )
      return reconciled;
    const volumeName = `pvc-${claim.metadata.uid}`;
    if (this.#volumes.lister.get('', volumeName) !== undefined) return reconciled;
    const selected = annotations[SELECTED_NODE];
    if (selected === undefined && waitsForConsumer(storageClass)) return reconciled;
    if (!(await this.#isResponsible(claim, storageClass, selected, signal))) return reconciled;
    const message = `External provisioner is provisioning volume for claim "${namespace}/${name}"`;
    this.#record(claim, 'Normal', 'Provisioning', message);
    const why = `failed to provision volume with StorageClass "${storageClass.metadata.name}"`;
    try {
      const place = await this.#nodeOfSource(claim, signal);
      if (selected !== undefined && place !== undefined && place !== selected) {
        const reason = `the source of a copy is on node ${place}, not on node ${selected}`;
        this.#record(claim, 'Warning', 'ProvisioningFailed', `${why}: ${reason}`);
        await this.#select(claim, place, signal);
        return reconciled;
      }
      await this.#provision(claim, storageClass, volumeName, selected, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      this.#record(claim, 'Warning', 'ProvisioningFailed', `${why}: ${errorMessage(error)}`);
      // Another node may have room, if the place of a volume depends on its node.
      if (
        selected !== undefined &&
        isRpcError(error, 'RESOURCE_EXHAUSTED', 'OUT_OF_RANGE') &&
        Object.keys(this.#nodes.segments(selected) ?? {}).length > 0
      ) {
        await this.#select(claim, undefined, signal);
        return reconciled;
      }
      throw error;
    }
    const done = `Successfully provisioned volume ${volumeName}`;
    this.#record(claim, 'Normal', 'ProvisioningSucceeded', done);
    return reconciled;
  }

  /**
   * Reports whether this provisioner has to create the volume: of several, that of the selected
   * node; without a selected node, that of the first node by name that the class allows.
   */
  async #isResponsible(
    claim: ReadClaim,
    { allowedTopologies }: Immutable<StorageClass>,
    selected: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { nodeName } = this.#config;
    if (nodeName === undefined) return true;
    if (selected !== undefined) return selected === nodeName;
    const place = await this.#nodeOfSource(claim, signal);
    if (place !== undefined) return place === nodeName;
    const { names } = this.#nodes;
    const first = names.find((name) => {
      const segments = this.#nodes.segments(name);
      return segments !== undefined && isAllowed(allowedTopologies, segments);
    });
    return (first ?? names[0]) === nodeName;
  }

  /**
   * Returns the node that has the source of the claim, where a copy has to be, too; undefined
   * without a source, and if one driver has the volumes of all nodes. Rejects if the source is a
   * snapshot that cannot be used yet.
   */
  async #nodeOfSource(claim: ReadClaim, signal: AbortSignal): Promise<string | undefined> {
    const { client, nodeName } = this.#config;
    if (nodeName === undefined) return undefined;
    const volume = this.#sourceVolume(claim);
    if (volume !== undefined) return this.#nodes.nodeOf(volume);
    const snapshot = snapshotNameOf(claim);
    if (snapshot === undefined) return undefined;
    const { namespace = '' } = claim.metadata;
    const content = await sourceContent(client, namespace, snapshot, signal);
    return content.metadata.annotations?.[SNAPSHOT_NODE];
  }

  async #provision(
    claim: ReadClaim,
    storageClass: Immutable<StorageClass>,
    volumeName: string,
    selected: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, driver, service, nodeName, defaultFsType } = this.#config;
    if (claim.spec.selector !== undefined) throw new Error('claim Selector is not supported');
    const parameters = classParameters(
      storageClass.parameters ?? {},
      claim,
      volumeName,
      defaultFsType,
    );
    const place = selected ?? nodeName;
    const segments = place === undefined ? undefined : this.#nodes.segments(place);
    if (place !== undefined && segments === undefined)
      throw new Error(
        `error generating accessibility requirements: no topology key found on CSINode ${place}`,
      );
    const hasTopology = Object.keys(segments ?? {}).length > 0;
    if (hasTopology && !isAllowed(storageClass.allowedTopologies, segments ?? {}))
      throw new Error(
        `selected node '"${place}"' topology '${JSON.stringify(segments)}' is not in allowed topologies: ` +
          JSON.stringify(storageClass.allowedTopologies),
      );
    const capabilities = await service.capabilities();
    const request: VolumeRequest = {
      claim,
      storageClass,
      parameters,
      volumeName,
      multiWriter: capabilities.has('SINGLE_NODE_MULTI_WRITER'),
      secrets: await secretValues(client, parameters.secrets.provisioner, signal),
      source: await this.#contentSource(claim, signal),
      topology: requirementFor(storageClass, segments, this.#nodes.allSegments),
      attributes: await this.#attributes(claim, capabilities, signal),
    };
    const { volume } = await service.create(createRequest(request));
    if (volume === undefined || volume.volumeId === '')
      throw new Error('the driver has created a volume without an id');
    try {
      await client
        .resource(persistentVolumes)
        .create(newVolume(driver, request, volume), { signal });
    } catch (error) {
      // The name contains the claim's UID, so this provisioner has created it before.
      if (!apierrors.isAlreadyExists(error)) throw error;
    }
  }

  /** Returns the claim's VolumeAttributesClass. Rejects if the driver cannot have it. */
  async #attributes(
    { spec }: ReadClaim,
    capabilities: ReadonlySet<ControllerCapability>,
    signal: AbortSignal,
  ): Promise<VolumeRequest['attributes']> {
    const { client, driver } = this.#config;
    const name = spec.volumeAttributesClassName ?? '';
    if (name === '') return undefined;
    if (!capabilities.has('MODIFY_VOLUME'))
      throw new Error('the driver does not support VolumeAttributesClasses');
    const found = await client.resource(volumeAttributesClasses).get(name, { signal });
    if (found.driverName !== driver)
      throw new Error(
        `VAC ${name} referenced in PVC is for driver ${found.driverName} which does not match driver name ${driver}`,
      );
    return found;
  }

  /** Returns the volume that the claim is to be a copy of. */
  #sourceVolume(claim: ReadClaim): ReadVolume | undefined {
    const source = claim.spec.dataSourceRef ?? claim.spec.dataSource;
    if (source?.kind !== 'PersistentVolumeClaim') return undefined;
    const from = this.#claims.lister.get(claim.metadata.namespace ?? '', source.name);
    return this.#volumes.lister.get('', from?.spec.volumeName ?? '');
  }

  async #contentSource(
    claim: ReadClaim,
    signal: AbortSignal,
  ): Promise<CsiInput<'VolumeContentSource'> | undefined> {
    const source = claim.spec.dataSourceRef ?? claim.spec.dataSource;
    if (source === undefined) return undefined;
    const snapshot = snapshotNameOf(claim);
    if (snapshot !== undefined) {
      const { client, driver } = this.#config;
      return await snapshotSource(client, driver, claim, snapshot, signal);
    }
    if (source.kind !== 'PersistentVolumeClaim') {
      throw new Error(
        `data source of kind ${source.kind} is not supported: only claims and snapshots can be copied`,
      );
    }
    const volume = this.#sourceVolume(claim);
    const named = `${claim.metadata.namespace ?? ''}/${source.name}`;
    if (volume === undefined || volume.status.phase !== 'Bound')
      throw new Error(
        `error getting handle for DataSource Type PersistentVolumeClaim by Name ${named}: the claim is not bound`,
      );
    if (volume.spec.csi?.driver !== this.#config.driver)
      throw new Error(`the volume of claim ${named} is of another driver`);
    return { volume: { volumeId: volume.spec.csi.volumeHandle } };
  }

  async #reconcileVolume(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const volume = this.#volumes.lister.get('', name);
    if (volume === undefined || !this.#isOurs(volume)) return reconciled;
    try {
      if (isToBeDeleted(volume)) await this.#delete(volume, signal);
      else await this.#protect(volume, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error)) return reconciled;
      if (!signal.aborted) {
        const regarding = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: volume.metadata };
        this.#recorder.event(regarding, 'Warning', 'VolumeFailedDelete', errorMessage(error));
      }
      throw error;
    }
    return reconciled;
  }

  /**
   * Adds or removes the finalizer after a change of the reclaim policy: only volumes that the driver
   * has to delete wait for it.
   */
  async #protect(volume: ReadVolume, signal: AbortSignal): Promise<void> {
    const { metadata, spec } = volume;
    const { name, deletionTimestamp, finalizers = [] } = metadata;
    const has = finalizers.includes(PROVISIONER_FINALIZER);
    const isNeeded = spec.persistentVolumeReclaimPolicy === 'Delete';
    // A deleted object gets no more finalizers.
    if (has === isNeeded || (isNeeded && deletionTimestamp !== undefined)) return;
    const others = finalizers.filter((each) => each !== PROVISIONER_FINALIZER);
    const changed = isNeeded ? [...others, PROVISIONER_FINALIZER] : others;
    await this.#config.client
      .resource(persistentVolumes)
      .patch(name, MERGE_PATCH, finalizersPatch(volume, changed), { signal });
  }

  async #delete(cached: ReadVolume, signal: AbortSignal): Promise<void> {
    const { client, service } = this.#config;
    const resource = client.resource(persistentVolumes);
    const { name, uid } = cached.metadata;
    // The cache may be stale, and the claim may exist.
    const volume = await resource.get(name, { signal });
    if (volume.metadata.uid !== uid || !isToBeDeleted(volume)) return;
    const attached = this.#attachments.lister
      .list()
      .find(({ spec }) => spec.source.persistentVolumeName === name);
    if (attached !== undefined)
      throw new Error(
        `persistentvolume ${name} is still attached to node ${attached.spec.nodeName}`,
      );
    await service.delete({
      volumeId: volume.spec.csi?.volumeHandle ?? '',
      secrets: await secretValues(client, deletionSecret(volume), signal),
    });
    if (volume.metadata.deletionTimestamp === undefined)
      await resource.delete(name, { preconditions: { uid }, signal });
    const deleted = await resource.get(name, { signal });
    if (deleted.metadata.uid !== uid) return;
    const finalizers = (deleted.metadata.finalizers ?? []).filter(
      (each) => each !== PROVISIONER_FINALIZER,
    );
    await resource.patch(name, MERGE_PATCH, finalizersPatch(deleted, finalizers), { signal });
  }

  /**
   * Selects another node for the claim, or leaves that to the scheduler. The pod is scheduled
   * again, to a node that its claims have selected.
   */
  async #select(
    claim: ReadClaim,
    nodeName: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { [SELECTED_NODE]: _, ...others } = claim.metadata.annotations ?? {};
    const annotations = nodeName === undefined ? others : { ...others, [SELECTED_NODE]: nodeName };
    const { namespace = '' } = claim.metadata;
    try {
      await this.#config.client
        .resource(persistentVolumeClaims)
        .namespace(namespace)
        .update({ ...claim, metadata: { ...claim.metadata, annotations } }, { signal });
    } catch (error) {
      if (!apierrors.isConflict(error) && !apierrors.isNotFound(error)) throw error;
    }
  }

  #record(claim: ReadClaim, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { metadata } = claim;
    const regarding = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata };
    this.#recorder.event(regarding, type, reason, message);
  }
}

/** Reports whether the driver has to delete the volume: it is released, or deleted by a user. */
function isToBeDeleted({ metadata, spec, status }: ReadVolume): boolean {
  if (spec.persistentVolumeReclaimPolicy !== 'Delete') return false;
  if (metadata.deletionTimestamp === undefined)
    return status.phase === 'Released' || status.phase === 'Failed';
  return status.phase !== 'Bound' && metadata.finalizers?.includes(PROVISIONER_FINALIZER) === true;
}
