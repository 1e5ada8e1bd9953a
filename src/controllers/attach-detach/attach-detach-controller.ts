// Asks CSI drivers, through VolumeAttachments, to attach volumes to the nodes whose pods use them,
// and to detach volumes that no pod uses. Reports in each node's status which volumes are attached;
// the kubelet mounts no volume before that.
//
// A volume is detached once the node's status no longer lists it as mounted. An unhealthy node
// loses its volumes after six minutes even if it still lists them, and a node that is out of
// service or deleted loses them at once.

import {
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type CSIDriver,
  csiDrivers,
  type VolumeAttachment,
  volumeAttachments,
} from '#api/groups/storage/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import {
  type RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import {
  type Counter,
  countSamples,
  type Family,
  Instruments,
} from '#machinery/metrics/instruments.ts';
import { ControllerBuilder, type Keys } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { OwnWrites } from '../own-writes.ts';
import { BY_CLAIM, byClaim } from '../pod-claims.ts';
import { BY_NODE, byNode } from '../pods-by-node.ts';
import {
  attachmentNameOf,
  isHealthy,
  isManaged,
  isMounted,
  isOutOfService,
  isShared,
  multiAttachMessage,
  needsVolumes,
  pluginOf,
  uniqueName,
} from './attachment.ts';
import {
  asDriverSees,
  inlineVolumeOf,
  inlineVolumesOf,
  isInline,
  shownName,
} from './migrated-volumes.ts';
import { type OperatedVolume, OperationTimes } from './operation-times.ts';

type ReadAttachment = Immutable<VolumeAttachment>;
type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadNode = Immutable<Node>;
type ReadPod = Immutable<Pod>;
type ReadVolume = Immutable<PersistentVolume>;

export interface AttachDetachConfig extends ControllerConfig {
  /**
   * How long a volume that is listed as mounted stays attached to an unhealthy node. Default: six
   * minutes.
   */
  readonly maxWaitForUnmountMs?: number;
}

const BY_VOLUME = 'volume-name';
const BY_INLINE = 'inline-volume';
/** Pods that name a claim or a volume of a driver; most pods of a large cluster name none. */
const BY_USE = 'uses-volumes';
const USING = 'yes';

export class AttachDetachController implements Controller {
  readonly name = 'persistentvolume-attach-detach-controller';
  readonly run: Controller['run'];
  readonly #config: AttachDetachConfig;
  readonly #maxWaitMs: number;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #volumes: SharedInformer<ReadVolume>;
  readonly #nodes: SharedInformer<ReadNode>;
  readonly #attachments: SharedInformer<ReadAttachment>;
  readonly #drivers: SharedInformer<Immutable<CSIDriver>>;
  readonly #nodeQueue: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  /**
   * By key: the time, on the clock's monotonic scale, since when no pod needs an attached volume.
   */
  readonly #unneeded = new Map<string, number>();
  /**
   * By key: volumes that the node's status no longer lists as attached, but that are still
   * attached.
   */
  readonly #detaching = new Set<string>();
  /** Volumes for which an attachment is being created. */
  readonly #attaching = new Set<string>();
  /** By the volume's name: attachments created. */
  readonly #writes: OwnWrites;
  /** The last versions of volumes that were deleted while they are still attached to a node. */
  readonly #removed = new Map<string, ReadVolume>();
  /** By the pod's UID, then by volume: the event that was recorded last. */
  readonly #recordedEvents = new Map<string, Map<string, string>>();

  readonly #forced: Family<Counter>;
  readonly #times: OperationTimes;

  constructor(config: AttachDetachConfig) {
    const { clock } = config;
    this.#config = config;
    this.#maxWaitMs = config.maxWaitForUnmountMs ?? 360_000;
    this.#writes = new OwnWrites({ clock });
    const instruments = config.instruments ?? new Instruments();
    this.#forced = this.#registerMetrics(instruments);
    this.#times = new OperationTimes(instruments, clock);
    // Keys are 'node/volume'.
    const builder = new ControllerBuilder(config, {
      queue: 'attach_detach',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#nodeQueue = builder.addQueue({
      queue: 'attach_detach_nodes',
      workers: 2,
      reconcile: (name, signal) => this.#reconcileNode(name, signal),
    });
    this.#recorder = builder.recorder('attachdetach-controller');
    this.#pods = builder.watches(pods, (pod) => this.#keysOfPod(pod), {
      indexers: {
        [BY_CLAIM]: byClaim,
        [BY_NODE]: byNode,
        [BY_INLINE]: (pod) => inlineVolumesOf(pod).map(({ metadata }) => metadata.name),
        [BY_USE]: (pod) =>
          byClaim(pod).length > 0 || inlineVolumesOf(pod).length > 0 ? [USING] : [],
      },
      onGone: (pod) => void this.#recordedEvents.delete(pod.metadata.uid),
    });
    this.#claims = builder.watches(persistentVolumeClaims, ({ spec: { volumeName } }) =>
      volumeName === undefined ? undefined : this.#keysOfVolume(this.#volume(volumeName)),
    );
    this.#volumes = builder.watches(
      persistentVolumes,
      (volume) => this.#keysOfVolume(asDriverSees(volume)),
      {
        onGone: (deleted) => {
          const volume = asDriverSees(deleted);
          const { name } = volume.metadata;
          if (this.#attachments.lister.byIndex(BY_VOLUME, name).length > 0)
            this.#removed.set(name, volume);
        },
      },
    );
    this.#attachments = builder.watches(
      volumeAttachments,
      (attachment) => this.#keysOfAttachment(attachment),
      {
        indexers: {
          [BY_NODE]: ({ spec }) => [spec.nodeName],
          [BY_VOLUME]: (attachment) => [volumeOf(attachment)],
        },
        onSeen: (attachment, before) => {
          this.#nodeQueue.add(attachment.spec.nodeName);
          if (before === undefined) this.#writes.seen(volumeOf(attachment), attachment);
          else this.#timeAttaching(before, attachment);
        },
        onGone: (attachment) => {
          this.#nodeQueue.add(attachment.spec.nodeName);
          this.#writes.gone(volumeOf(attachment), attachment);
          const { uid } = attachment.metadata;
          this.#times.end('volume_detach', uid, this.#operated(attachment), true);
          this.#times.forget(uid);
        },
      },
    );
    this.#nodes = builder.watches(nodes, ({ metadata: { name } }) => this.#keysOfNode(name), {
      predicate: { update: (before, node) => !semanticEqual(mattersOf(before), mattersOf(node)) },
      // The name alone is the key of the node.
      enqueue: (key) => (key.includes('/') ? builder.queue : this.#nodeQueue).add(key),
    });
    this.#drivers = builder.watches(csiDrivers, ({ metadata }) =>
      this.#keysOfDriver(metadata.name),
    );
    this.run = builder.complete();
  }

  /** Registers the metrics under upstream's names. Returns the counter of forced detaches. */
  #registerMetrics(instruments: Instruments): Family<Counter> {
    const used = (): readonly (readonly [string, string])[] =>
      this.#pods.lister
        .byIndex(BY_USE, USING)
        .flatMap((pod) =>
          pod.spec.nodeName === undefined
            ? []
            : this.#volumesOf(pod).map(
                (volume) => [pod.spec.nodeName ?? '', pluginOf(volume)] as const,
              ),
        );
    instruments.gauge(
      {
        name: 'storage_count_attachable_volumes_in_use',
        help: 'Volumes in use.',
        labels: ['node', 'volume_plugin'],
      },
      () => countSamples(used()),
    );
    const volumes = (): readonly (readonly [string, string])[] => {
      const wanted = this.#pods.lister.byIndex(BY_USE, USING).flatMap((pod) => {
        const node = this.#nodes.lister.get('', pod.spec.nodeName ?? '');
        if (node === undefined || !needsVolumes(pod, node)) return [];
        return this.#volumesOf(pod)
          .filter((volume) => this.#needsAttaching(volume))
          .map((volume) => `${node.metadata.name}/${volume.metadata.name}`);
      });
      const attached = this.#attachments.lister.list().filter(({ status }) => status.attached);
      const plugin = (name: string): string => {
        const volume = this.#volume(name) ?? this.#removed.get(name);
        return volume === undefined ? 'N/A' : pluginOf(volume);
      };
      return [
        ...[...new Set(wanted)].map(
          (key) => [plugin(key.slice(key.indexOf('/') + 1)), 'desired_state_of_world'] as const,
        ),
        ...attached.map(
          (attachment) => [plugin(volumeOf(attachment)), 'actual_state_of_world'] as const,
        ),
      ];
    };
    instruments.gauge(
      {
        name: 'attachdetach_controller_total_volumes',
        help: 'Volumes that are wanted, and that are attached.',
        labels: ['plugin_name', 'state'],
      },
      () => countSamples(volumes()),
    );
    return instruments.counter({
      name: 'attach_detach_controller_attachdetach_controller_forced_detaches',
      help: 'Volumes taken from nodes that had not said that they are not mounted any more.',
      labels: ['reason'],
    });
  }

  #timeAttaching(before: ReadAttachment, attachment: ReadAttachment): void {
    const { uid } = attachment.metadata;
    const { attached, attachError } = attachment.status;
    if (attached && !before.status.attached)
      this.#times.end('volume_attach', uid, this.#operated(attachment), true);
    else if (
      !attached &&
      attachError !== undefined &&
      !semanticEqual(attachError, before.status.attachError)
    ) {
      this.#times.end('volume_attach', uid, this.#operated(attachment), false);
    }
  }

  #operated(attachment: ReadAttachment): OperatedVolume {
    const { attacher, source } = attachment.spec;
    const volume = this.#volumes.lister.get('', source.persistentVolumeName ?? '');
    const isMigrated =
      volume === undefined
        ? source.persistentVolumeName === undefined
        : volume.spec.csi === undefined;
    return { plugin: `kubernetes.io/csi:${attacher}`, isMigrated };
  }

  #keysOfPod(pod: ReadPod): readonly string[] {
    const { nodeName } = pod.spec;
    return nodeName === undefined
      ? []
      : this.#volumesOf(pod).map(({ metadata }) => `${nodeName}/${metadata.name}`);
  }

  #keysOfAttachment(attachment: ReadAttachment): Keys {
    const name = volumeOf(attachment);
    if (name === '') return undefined;
    const volume = this.#volume(name);
    return volume === undefined
      ? `${attachment.spec.nodeName}/${name}`
      : this.#keysOfVolume(volume);
  }

  #keysOfDriver(driver: string): readonly string[] {
    const inline = this.#pods.lister.byIndex(BY_USE, USING).flatMap(inlineVolumesOf);
    return [...this.#volumes.lister.list().map(asDriverSees), ...inline]
      .filter(({ spec }) => spec.csi?.driver === driver)
      .flatMap((volume) => this.#keysOfVolume(volume));
  }

  /** Returns the volumes of CSI drivers that the pod uses through claims, or names itself. */
  #volumesOf(pod: ReadPod): readonly ReadVolume[] {
    const claimed = byClaim(pod).flatMap((key) => {
      const claim = this.#claims.lister.getByKey(key);
      const volume =
        claim?.spec.volumeName === undefined ? undefined : this.#volume(claim.spec.volumeName);
      return volume?.spec.csi === undefined ? [] : [volume];
    });
    return [...claimed, ...inlineVolumesOf(pod)];
  }

  /**
   * Returns the volume as its CSI driver sees it. A volume without an object exists as long as a
   * pod names it or an attachment for it exists.
   */
  #volume(name: string): ReadVolume | undefined {
    const volume = this.#volumes.lister.get('', name);
    if (volume !== undefined) return asDriverSees(volume);
    const [pod] = this.#pods.lister.byIndex(BY_INLINE, name);
    const named =
      pod === undefined
        ? undefined
        : inlineVolumesOf(pod).find(({ metadata }) => metadata.name === name);
    if (named !== undefined) return named;
    const [attachment] = this.#attachments.lister.byIndex(BY_VOLUME, name);
    return attachment === undefined ? undefined : inlineVolumeOf(attachment);
  }

  /** Returns a key for each node on which the volume is wanted or attached. */
  #keysOfVolume(volume: ReadVolume | undefined): readonly string[] {
    if (volume?.spec.csi === undefined) return [];
    const { name } = volume.metadata;
    const wanted = this.#podsWith(volume).map(({ spec }) => spec.nodeName);
    const attached = this.#attachments.lister
      .byIndex(BY_VOLUME, name)
      .map(({ spec }) => spec.nodeName);
    return [...new Set([...wanted, ...attached])].flatMap((node) =>
      node === undefined ? [] : `${node}/${name}`,
    );
  }

  /** Returns the key of the node, and the keys of the volumes that are wanted or attached there. */
  #keysOfNode(name: string): readonly string[] {
    const attached = this.#attachments.lister
      .byIndex(BY_NODE, name)
      .map((attachment) => `${name}/${volumeOf(attachment)}`);
    const wanted = this.#pods.lister.byIndex(BY_NODE, name).flatMap((pod) => this.#keysOfPod(pod));
    return [name, ...attached, ...wanted];
  }

  /**
   * Returns the pods that are bound to a node and use the volume, through their claim or by naming
   * the volume.
   */
  #podsWith(volume: ReadVolume): readonly ReadPod[] {
    const { metadata, spec } = volume;
    if (isInline(volume)) {
      return this.#pods.lister
        .byIndex(BY_INLINE, metadata.name)
        .filter(({ spec: { nodeName } }) => nodeName !== undefined);
    }
    const { namespace = '', name = '', uid } = spec.claimRef ?? {};
    const key = `${namespace}/${name}`;
    const claim = this.#claims.lister.getByKey(key);
    const isBound =
      claim?.status.phase === 'Bound' &&
      claim.metadata.uid === uid &&
      claim.spec.volumeName === metadata.name;
    if (!isBound) return [];
    return this.#pods.lister
      .byIndex(BY_CLAIM, key)
      .filter(({ spec: { nodeName } }) => nodeName !== undefined);
  }

  #needsAttaching(volume: ReadVolume): boolean {
    const { csi } = volume.spec;
    return (
      csi !== undefined && this.#drivers.lister.get('', csi.driver)?.spec.attachRequired !== false
    );
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const slash = key.indexOf('/');
    const [nodeName, volumeName] = [key.slice(0, slash), key.slice(slash + 1)];
    const present = this.#volume(volumeName);
    const volume = present ?? this.#removed.get(volumeName);
    const name = volume === undefined ? undefined : attachmentNameOf(volume, nodeName);
    // Attachments of unknown volumes, or with another name, belong to other controllers.
    if (volume === undefined || name === undefined) return reconciled;
    const node = this.#nodes.lister.get('', nodeName);
    const attachment = this.#attachments.lister.get('', name);
    const wanting =
      present === undefined || node === undefined || !this.#needsAttaching(volume)
        ? []
        : this.#podsWith(volume).filter(
            (pod) => pod.spec.nodeName === nodeName && needsVolumes(pod, node),
          );
    try {
      if (wanting.length > 0) {
        this.#unneeded.delete(key);
        if (this.#detaching.delete(key)) this.#nodeQueue.add(nodeName);
        if (attachment === undefined)
          return await this.#attach(volume, node as ReadNode, wanting, signal);
        this.#tellHow(volume, attachment, wanting);
      } else if (attachment === undefined) {
        this.#unneeded.delete(key);
        this.#detaching.delete(key);
        if (this.#attachments.lister.byIndex(BY_VOLUME, volumeName).length === 0)
          this.#removed.delete(volumeName);
      } else if (attachment.metadata.deletionTimestamp === undefined) {
        return await this.#detach(key, attachment, volume, node, signal);
      }
      return reconciled;
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error)) return reconciled;
      throw error;
    }
  }

  async #attach(
    volume: ReadVolume,
    node: ReadNode,
    wanting: readonly ReadPod[],
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { csi } = volume.spec;
    if (csi === undefined || !isManaged(node)) return reconciled;
    const { name } = volume.metadata;
    // Only one of several nodes gets the volume: the next decision waits until the cache shows this
    // attachment.
    const behindMs = this.#writes.remainingMs(name);
    if (behindMs > 0) return requeueAfter(behindMs);
    if (this.#attaching.has(name)) return requeue;
    if (!isShared(volume) && this.#attachments.lister.byIndex(BY_VOLUME, name).length > 0) {
      // The detachment on the other node puts this key on the queue again.
      const others = this.#podsWith(volume).filter(
        ({ spec }) => spec.nodeName !== node.metadata.name,
      );
      for (const pod of wanting) {
        const message = multiAttachMessage(shownName(volume), pod.metadata.namespace ?? '', others);
        this.#recordOnce(pod, name, 'Warning', 'FailedAttachVolume', message);
      }
      return reconciled;
    }
    const nodeName = node.metadata.name;
    const spec = { attacher: csi.driver, nodeName, source: sourceOf(volume) };
    const wanted = { metadata: { name: attachmentNameOf(volume, nodeName) }, spec };
    this.#attaching.add(name);
    try {
      const created = await this.#config.client
        .resource(volumeAttachments)
        .create(wanted, { signal });
      this.#writes.wrote(name, created, this.#attachments.lister.get('', created.metadata.name));
      this.#times.begin('volume_attach', created.metadata.uid);
    } catch (error) {
      // The attachment exists already: the cache will show it, and an attachment that is being
      // deleted is waited for.
      if (!apierrors.isAlreadyExists(error)) throw error;
    } finally {
      this.#attaching.delete(name);
    }
    return reconciled;
  }

  #tellHow(
    volume: ReadVolume,
    { metadata, status }: ReadAttachment,
    wanting: readonly ReadPod[],
  ): void {
    if (metadata.deletionTimestamp !== undefined) return;
    const { name } = volume.metadata;
    const shown = shownName(volume);
    for (const pod of wanting) {
      if (status.attached) {
        this.#recordOnce(
          pod,
          name,
          'Normal',
          'SuccessfulAttachVolume',
          `AttachVolume.Attach succeeded for volume "${shown}" `,
        );
      } else if (status.attachError !== undefined) {
        const why = status.attachError.message ?? '';
        this.#recordOnce(
          pod,
          name,
          'Warning',
          'FailedAttachVolume',
          `AttachVolume.Attach failed for volume "${shown}" : ${why}`,
        );
      }
    }
  }

  async #detach(
    key: string,
    attachment: ReadAttachment,
    volume: ReadVolume,
    node: ReadNode | undefined,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { clock } = this.#config;
    const since = this.#unneeded.get(key) ?? clock.monotonic();
    this.#unneeded.set(key, since);
    const unique = uniqueName(volume);
    let forced: string | undefined;
    if (node !== undefined) {
      if (!isManaged(node)) return reconciled;
      const leftMs = since + this.#maxWaitMs - clock.monotonic();
      const byForce = isOutOfService(node) || (!isHealthy(node) && leftMs <= 0);
      // The node's status update wakes this key when the volume is no longer mounted.
      const mounted = unique !== undefined && isMounted(node, unique);
      if (mounted && !byForce) return leftMs > 0 ? requeueAfter(leftMs) : reconciled;
      if (mounted) forced = isOutOfService(node) ? 'out-of-service' : 'timeout';
      this.#detaching.add(key);
      // The node's status is updated before the volume is detached, so that no kubelet mounts the
      // volume in between.
      await this.#updateNodeStatus(node.metadata.name, signal);
    }
    const { name, uid } = attachment.metadata;
    this.#times.begin('volume_detach', uid);
    try {
      await this.#config.client
        .resource(volumeAttachments)
        .delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      this.#times.forget(uid);
      throw error;
    }
    if (forced !== undefined) this.#forced.with(forced).value++;
    return reconciled;
  }

  async #reconcileNode(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    try {
      await this.#updateNodeStatus(name, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error)) return reconciled;
      throw error;
    }
    return reconciled;
  }

  /** Writes the attached volumes to the node's status. */
  async #updateNodeStatus(nodeName: string, signal: AbortSignal): Promise<void> {
    const cached = this.#nodes.lister.get('', nodeName);
    if (cached === undefined || !isManaged(cached)) return;
    if (semanticEqual(cached.status.volumesAttached ?? [], this.#attachedTo(nodeName, cached)))
      return;
    const client = this.#config.client.resource(nodes);
    const node = await client.get(nodeName, { signal });
    const volumesAttached = this.#attachedTo(nodeName, node);
    if (semanticEqual(node.status.volumesAttached ?? [], volumesAttached)) return;
    // The kubelet writes this status, too, so the patch names the version that was read.
    const { resourceVersion } = node.metadata;
    const patch = {
      metadata: { resourceVersion },
      status: { volumesAttached: volumesAttached.length > 0 ? volumesAttached : null },
    };
    await client.patch(nodeName, 'application/merge-patch+json', patch, {
      subresource: 'status',
      signal,
    });
  }

  #attachedTo(
    nodeName: string,
    { status }: ReadNode,
  ): readonly { readonly name: string; readonly devicePath: string }[] {
    const attached = new Set<string>();
    for (const attachment of this.#attachments.lister.byIndex(BY_NODE, nodeName)) {
      const { metadata, status: state } = attachment;
      const volumeName = volumeOf(attachment);
      const volume = this.#volume(volumeName) ?? this.#removed.get(volumeName);
      const unique = volume === undefined ? undefined : uniqueName(volume);
      const stays =
        state.attached &&
        metadata.deletionTimestamp === undefined &&
        !this.#detaching.has(`${nodeName}/${volumeName}`);
      if (unique !== undefined && stays) attached.add(unique);
    }
    // Keeps the present order, and entries that belong to other attachers than CSI drivers.
    const present = (status.volumesAttached ?? []).filter(
      ({ name }) => attached.has(name) || !name.startsWith('kubernetes.io/csi/'),
    );
    const names = new Set(present.map(({ name }) => name));
    const added = [...attached].filter((name) => !names.has(name)).sort();
    return [...present, ...added.map((name) => ({ name, devicePath: '' }))];
  }

  /** Records an event on the pod, once as long as the event stays the same. */
  #recordOnce(
    pod: ReadPod,
    volume: string,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void {
    const recorded = this.#recordedEvents.get(pod.metadata.uid) ?? new Map<string, string>();
    if (recorded.get(volume) === message) return;
    this.#recordedEvents.set(pod.metadata.uid, recorded.set(volume, message));
    this.#recorder.event(
      { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata },
      type,
      reason,
      message,
    );
  }
}

/** Returns the volume of an attachment; '' if it is not of a CSI driver. */
function volumeOf(attachment: ReadAttachment): string {
  return (
    attachment.spec.source.persistentVolumeName ?? inlineVolumeOf(attachment)?.metadata.name ?? ''
  );
}

/**
 * Returns the source of an attachment. For a volume without an object, the attachment holds its
 * whole spec.
 */
function sourceOf(volume: ReadVolume): VolumeAttachment['spec']['source'] {
  return isInline(volume)
    ? { inlineVolumeSpec: volume.spec as PersistentVolume['spec'] }
    : { persistentVolumeName: volume.metadata.name };
}

/** Returns the part of a node that this controller reads. */
function mattersOf(node: ReadNode): unknown {
  const { volumesInUse = [], volumesAttached = [] } = node.status;
  return [
    node.metadata.uid,
    node.metadata.annotations,
    isHealthy(node),
    isOutOfService(node),
    volumesInUse,
    volumesAttached,
  ];
}
