// Takes and deletes snapshots of a CSI driver's volumes: the parts of the snapshot controller and of
// the external-snapshotter sidecar that concern one driver.
//
// A VolumeSnapshot of a claim gets a VolumeSnapshotContent, which the driver then fills. A content that
// exists already is bound to the VolumeSnapshot that names it. Finalizers keep both until the driver
// has deleted the snapshot, or the policy says that it stays.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type PersistentVolume,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { newQuantity } from '#machinery/text/quantity.ts';
import { formatTime } from '#machinery/text/time.ts';
import { ControllerBuilder } from '../../builder.ts';
import type { Controller } from '../../controller.ts';
import { retriedOnConflict } from '../../retried-on-conflict.ts';
import type { CsiControllerConfig } from '../csi-config.ts';
import { DriverNodes } from '../driver-nodes.ts';
import { MERGE_PATCH, statusPatch } from '../patches.ts';
import { contentAnnotations, reservedParameter } from './content-parts.ts';
import { ContentReconciler } from './content-reconciler.ts';
import { Finalizers } from './finalizers.ts';
import { groupOf, IN_GROUP, memberContentName } from './group-names.ts';
import {
  SNAPSHOT_GROUP,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  volumeSnapshotClasses,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from './resources.ts';
import { CONTENT_PROTECTION, SNAPSHOT_SECRET, VolumeContents } from './volume-contents.ts';

type Snapshot = Immutable<VolumeSnapshot>;
type Content = Immutable<VolumeSnapshotContent>;
type SnapshotClass = Immutable<VolumeSnapshotClass>;

const BOUND_PROTECTION = 'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection';
const DEFAULT_CLASS = 'snapshot.storage.kubernetes.io/is-default-class';

export class CsiSnapshotter implements Controller {
  readonly name = 'csi-snapshotter';
  readonly run: Controller['run'];
  readonly #config: CsiControllerConfig;
  readonly #snapshots: SharedInformer<Snapshot>;
  readonly #contents: SharedInformer<Content>;
  readonly #classes: SharedInformer<SnapshotClass>;
  readonly #claims: SharedInformer<Immutable<PersistentVolumeClaim>>;
  readonly #volumes: SharedInformer<Immutable<PersistentVolume>>;
  readonly #nodes: DriverNodes;
  readonly #recorder: EventRecorder;
  readonly #finalizers: Finalizers;
  readonly #reconciler: ContentReconciler<Content>;

  constructor(config: CsiControllerConfig) {
    this.#config = config;
    this.#finalizers = new Finalizers(config.client);
    const builder = new ControllerBuilder(config, {
      queue: 'csi_snapshotter_snapshots',
      workers: 2,
      reconcile: (key, signal) => retriedOnConflict(this.#reconcileSnapshot(key, signal)),
    });
    const contentQueue = builder.addQueue({
      queue: 'csi_snapshotter_contents',
      workers: 2,
      reconcile: (name, signal) => retriedOnConflict(this.#reconcileContent(name, signal)),
    });
    const enqueue = (name: string): void => contentQueue.add(name);
    this.#recorder = builder.recorder(`external-snapshotter ${config.driver}`);
    this.#snapshots = builder.for(volumeSnapshots);
    builder.watches(volumeSnapshots, (snapshot) => contentName(snapshot), { enqueue });
    this.#contents = builder.watches(volumeSnapshotContents, ({ spec }) => refKey(spec));
    builder.watches(volumeSnapshotContents, ({ metadata }) => metadata.name, {
      enqueue,
      predicate: { delete: false },
    });
    this.#classes = builder.informerFor(volumeSnapshotClasses);
    this.#claims = builder.informerFor(persistentVolumeClaims);
    this.#volumes = builder.informerFor(persistentVolumes);
    this.#nodes = new DriverNodes(builder, config);
    this.#reconciler = new ContentReconciler(
      config,
      new VolumeContents(config.service, this.#snapshots.lister, this.#classes.lister),
      this.#recorder,
    );
    this.run = builder.complete();
  }

  async #reconcileSnapshot(key: string, signal: AbortSignal): Promise<void> {
    const snapshot = this.#snapshots.lister.getByKey(key);
    if (snapshot === undefined) return;
    const content = this.#contents.lister.get('', contentName(snapshot));
    if (content === undefined) {
      if (snapshot.metadata.deletionTimestamp !== undefined)
        return await this.#finalizers.remove(volumeSnapshots, snapshot, BOUND_PROTECTION, signal);
      // The contents of a group are made with the group.
      if (memberContentName(snapshot) !== undefined) return;
      return await this.#createContent(snapshot, signal);
    }
    if (!(await this.#reconciler.isOurs(content))) return;
    if (snapshot.metadata.deletionTimestamp !== undefined)
      return await this.#deleteSnapshot(snapshot, content, signal);
    await this.#finalizers.add(volumeSnapshots, snapshot, BOUND_PROTECTION, signal);
    await this.#bind(snapshot, content, signal);
  }

  /** Creates the content for a snapshot of a claim with a volume of this driver. */
  async #createContent(snapshot: Snapshot, signal: AbortSignal): Promise<void> {
    const { client, driver } = this.#config;
    const { namespace = '', name, uid, resourceVersion } = snapshot.metadata;
    const claimName = snapshot.spec.source.persistentVolumeClaimName;
    const claim = this.#claims.lister.get(namespace, claimName ?? '');
    const volume = this.#volumes.lister.get('', claim?.spec.volumeName ?? '');
    if (claim === undefined || volume === undefined) {
      // A claim of another driver, or one that is not bound yet: the latter is looked for again.
      if (claimName !== undefined) throw new Error(`claim ${namespace}/${claimName} is not bound`);
      return;
    }
    if (!this.#nodes.hasVolume(volume) || volume.spec.csi === undefined) return;
    const chosen = this.#classOf(snapshot);
    if (chosen === undefined) {
      const message = `no VolumeSnapshotClass for driver ${driver}`;
      this.#recorder.event(snapshot, 'Warning', 'SetDefaultSnapshotClassFailed', message);
      throw new Error(message);
    }
    if (snapshot.spec.volumeSnapshotClassName === undefined) {
      // The change of the snapshot is reconciled with the default class.
      const spec = { volumeSnapshotClassName: chosen.metadata.name };
      await client
        .resource(volumeSnapshots)
        .namespace(namespace)
        .patch(name, MERGE_PATCH, { metadata: { resourceVersion }, spec }, { signal });
      return;
    }
    if (chosen.driver !== driver)
      throw new Error(`VolumeSnapshotClass ${chosen.metadata.name} is of driver ${chosen.driver}`);
    await this.#finalizers.add(volumeSnapshots, snapshot, BOUND_PROTECTION, signal);
    const { parameters } = chosen;
    const apiVersion = `${SNAPSHOT_GROUP}/v1`;
    try {
      await client.resource(volumeSnapshotContents).create(
        {
          metadata: {
            name: contentName(snapshot),
            finalizers: [CONTENT_PROTECTION],
            annotations: contentAnnotations(this.#config, SNAPSHOT_SECRET, {
              name: reservedParameter(parameters, 'snapshotter-secret-name'),
              namespace: reservedParameter(parameters, 'snapshotter-secret-namespace'),
            }),
          },
          spec: {
            driver,
            deletionPolicy: chosen.deletionPolicy,
            source: { volumeHandle: volume.spec.csi.volumeHandle },
            sourceVolumeMode: volume.spec.volumeMode ?? 'Filesystem',
            volumeSnapshotClassName: chosen.metadata.name,
            volumeSnapshotRef: {
              apiVersion,
              kind: 'VolumeSnapshot',
              name,
              namespace,
              uid,
              resourceVersion,
            },
          },
        },
        { signal },
      );
    } catch (error) {
      if (!apierrors.isAlreadyExists(error)) throw error;
    }
    const message = `Waiting for a snapshot ${namespace}/${name} to be created by the CSI driver.`;
    this.#recorder.event(snapshot, 'Normal', 'CreatingSnapshot', message);
  }

  /** Returns the snapshot's class, or the default one of this driver. */
  #classOf({ spec }: Snapshot): SnapshotClass | undefined {
    if (spec.volumeSnapshotClassName !== undefined)
      return this.#classes.lister.get('', spec.volumeSnapshotClassName);
    const defaults = this.#classes.lister
      .list()
      .filter(
        ({ driver, metadata }) =>
          driver === this.#config.driver && metadata.annotations?.[DEFAULT_CLASS] === 'true',
      );
    return defaults.length === 1 ? defaults[0] : undefined;
  }

  /** Brings the state of the content to the snapshot's status. */
  async #bind(snapshot: Snapshot, content: Content, signal: AbortSignal): Promise<void> {
    const { client } = this.#config;
    const { namespace = '', name, uid } = snapshot.metadata;
    const { volumeSnapshotRef: ref } = content.spec;
    if (ref.name !== name || ref.namespace !== namespace || (ref.uid ?? uid) !== uid) {
      const message = `VolumeSnapshotContent [${content.metadata.name}] is bound to a different snapshot`;
      this.#recorder.event(snapshot, 'Warning', 'SnapshotContentMisbound', message);
      return;
    }
    if (ref.uid === undefined) {
      const { resourceVersion } = content.metadata;
      const patch = { metadata: { resourceVersion }, spec: { volumeSnapshotRef: { uid } } };
      await client
        .resource(volumeSnapshotContents)
        .patch(content.metadata.name, MERGE_PATCH, patch, { signal });
      return;
    }
    const { creationTime, readyToUse = false, restoreSize, error } = content.status ?? {};
    const group = groupOf(snapshot)?.name;
    const status = {
      boundVolumeSnapshotContentName: content.metadata.name,
      readyToUse,
      ...(creationTime !== undefined && { creationTime: formatTime(creationTime / 1e6) }),
      ...(restoreSize !== undefined && {
        restoreSize: newQuantity(restoreSize, 'BinarySI').toString(),
      }),
      ...(error !== undefined && { error }),
      ...(group !== undefined && { volumeGroupSnapshotName: group }),
    };
    if (semanticEqual(status, snapshot.status)) return;
    await client
      .resource(volumeSnapshots)
      .namespace(namespace)
      .patch(
        name,
        MERGE_PATCH,
        {
          metadata: { resourceVersion: snapshot.metadata.resourceVersion },
          ...statusPatch(snapshot.status, status),
        },
        { subresource: 'status', signal },
      );
    if (readyToUse && snapshot.status?.readyToUse !== true) {
      const message = `Snapshot ${namespace}/${name} is ready to use.`;
      this.#recorder.event(snapshot, 'Normal', 'SnapshotReady', message);
    }
  }

  async #deleteSnapshot(snapshot: Snapshot, content: Content, signal: AbortSignal): Promise<void> {
    const { name, namespace = '', finalizers = [] } = snapshot.metadata;
    if (finalizers.includes(IN_GROUP)) {
      const message =
        `deletion of the individual volume snapshot ${namespace}/${name} is not allowed as it ` +
        `belongs to group snapshot ${namespace}/${groupOf(snapshot)?.name ?? ''}. Deleting the group ` +
        'snapshot will trigger the deletion of all the individual volume snapshots that are part ' +
        'of the group.';
      this.#recorder.event(snapshot, 'Warning', 'SnapshotDeletePending', message);
      return;
    }
    const isBound = content.spec.volumeSnapshotRef.uid === snapshot.metadata.uid;
    if (isBound && content.spec.deletionPolicy === 'Delete') {
      // The snapshot goes when its content is gone.
      if (content.metadata.deletionTimestamp === undefined)
        await this.#config.client
          .resource(volumeSnapshotContents)
          .delete(content.metadata.name, { signal });
      return;
    }
    await this.#finalizers.remove(volumeSnapshots, snapshot, BOUND_PROTECTION, signal);
  }

  async #reconcileContent(name: string, signal: AbortSignal): Promise<void> {
    const content = this.#contents.lister.get('', name);
    if (content !== undefined) await this.#reconciler.reconcile(content, signal);
  }
}

/** Returns the name of the snapshot's content: of the bound one, the given one, or the one to create. */
function contentName({ metadata, spec, status }: Snapshot): string {
  return (
    spec.source.volumeSnapshotContentName ??
    memberContentName({ metadata }) ??
    status?.boundVolumeSnapshotContentName ??
    `snapcontent-${metadata.uid}`
  );
}

const refKey = ({ volumeSnapshotRef: { namespace = '', name = '' } }: Content['spec']): string =>
  `${namespace}/${name}`;
