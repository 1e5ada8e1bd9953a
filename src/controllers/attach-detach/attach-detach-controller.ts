// Asks CSI drivers, through VolumeAttachments, to attach volumes to the nodes whose pods use them,
// and to detach volumes that no pod uses. volume-uses.ts knows which pods use which volumes, and
// attached-volumes.ts reports in each node's status which volumes are attached.
//
// A volume is detached once the node's status no longer lists it as mounted. An unhealthy node
// loses its volumes after six minutes even if it still lists them, and a node that is out of
// service or deleted loses them at once.

import {
  type Node,
  nodes,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
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
import { type Counter, type Family, Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { OwnWrites } from '../own-writes.ts';
import { AttachedVolumes } from './attached-volumes.ts';
import {
  attachmentNameOf,
  isHealthy,
  isManaged,
  isMounted,
  isOutOfService,
  isShared,
  multiAttachMessage,
  needsVolumes,
  uniqueName,
} from './attachment.ts';
import { asDriverSees, isInline, shownName } from './migrated-volumes.ts';
import { type OperatedVolume, OperationTimes } from './operation-times.ts';
import { registerVolumeMetrics } from './volume-metrics.ts';
import { ATTACHMENT_INDEXERS, POD_INDEXERS, VolumeUses, volumeOf } from './volume-uses.ts';

type ReadAttachment = Immutable<VolumeAttachment>;
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

export class AttachDetachController implements Controller {
  readonly name = 'persistentvolume-attach-detach-controller';
  readonly run: Controller['run'];
  readonly #config: AttachDetachConfig;
  readonly #maxWaitMs: number;
  readonly #volumes: SharedInformer<ReadVolume>;
  readonly #nodes: SharedInformer<ReadNode>;
  readonly #attachments: SharedInformer<ReadAttachment>;
  readonly #uses: VolumeUses;
  readonly #attached: AttachedVolumes;
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
    const podInformer = builder.watches(pods, (pod) => this.#uses.keysOfPod(pod), {
      indexers: POD_INDEXERS,
      onGone: (pod) => void this.#recordedEvents.delete(pod.metadata.uid),
    });
    const claims = builder.watches(persistentVolumeClaims, ({ spec: { volumeName } }) =>
      volumeName === undefined ? undefined : this.#uses.keysOfVolume(this.#uses.volume(volumeName)),
    );
    this.#volumes = builder.watches(
      persistentVolumes,
      (volume) => this.#uses.keysOfVolume(asDriverSees(volume)),
      { onGone: (deleted) => this.#uses.removed(deleted) },
    );
    this.#attachments = builder.watches(
      volumeAttachments,
      (attachment) => this.#uses.keysOfAttachment(attachment),
      {
        indexers: ATTACHMENT_INDEXERS,
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
    this.#nodes = builder.watches(
      nodes,
      ({ metadata: { name } }) => [name, ...this.#uses.keysOfNode(name)],
      {
        predicate: { update: (before, node) => !semanticEqual(mattersOf(before), mattersOf(node)) },
        // The name alone is the key of the node.
        enqueue: (key) => (key.includes('/') ? builder.queue : this.#nodeQueue).add(key),
      },
    );
    const drivers = builder.watches(csiDrivers, ({ metadata }) =>
      this.#uses.keysOfDriver(metadata.name),
    );
    const [volumes, attachments] = [this.#volumes, this.#attachments];
    this.#uses = new VolumeUses({ pods: podInformer, claims, volumes, attachments, drivers });
    this.#attached = new AttachedVolumes({
      client: config.client,
      nodes: this.#nodes,
      uses: this.#uses,
      isDetaching: (key) => this.#detaching.has(key),
    });
    this.#forced = registerVolumeMetrics({
      instruments,
      nodes: this.#nodes,
      attachments,
      uses: this.#uses,
    });
    this.#times = new OperationTimes(instruments, clock);
    this.run = builder.complete();
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

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const slash = key.indexOf('/');
    const [nodeName, volumeName] = [key.slice(0, slash), key.slice(slash + 1)];
    const present = this.#uses.volume(volumeName);
    const volume = present ?? this.#uses.volumeOrRemoved(volumeName);
    const name = volume === undefined ? undefined : attachmentNameOf(volume, nodeName);
    // Attachments of unknown volumes, or with another name, belong to other controllers.
    if (volume === undefined || name === undefined) return reconciled;
    const node = this.#nodes.lister.get('', nodeName);
    const attachment = this.#attachments.lister.get('', name);
    const wanting =
      present === undefined || node === undefined || !this.#uses.needsAttaching(volume)
        ? []
        : this.#uses
            .podsWith(volume)
            .filter((pod) => pod.spec.nodeName === nodeName && needsVolumes(pod, node));
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
        this.#uses.detached(volumeName);
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
    if (!isShared(volume) && this.#uses.attachmentsOf(name).length > 0) {
      // The detachment on the other node puts this key on the queue again.
      const others = this.#uses
        .podsWith(volume)
        .filter(({ spec }) => spec.nodeName !== node.metadata.name);
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
      await this.#attached.update(node.metadata.name, signal);
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
      await this.#attached.update(name, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error)) return reconciled;
      throw error;
    }
    return reconciled;
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
