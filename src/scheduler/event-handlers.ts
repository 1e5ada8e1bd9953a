// Forwards events of informers to the cache and the queue.

import type { HandlerRegistration, SharedInformer } from '#client/informers/index.ts';
import type { SchedulerCache } from './cache/cache.ts';
import { nodeUpdateEvent, podUpdateEvent } from './framework/changes.ts';
import { assignedPodAdd, assignedPodDelete, nodeAdd, nodeDelete } from './framework/events.ts';
import type { Node, Pod } from './framework/objects.ts';
import { PodInfo } from './framework/pod-info.ts';
import type { WaitingPods } from './framework/waiting-pods.ts';
import type { SchedulerMetrics } from './metrics/scheduler-metrics.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';

export interface EventHandlersConfig {
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly waitingPods: WaitingPods;
  /** Reports whether a profile schedules pods with this scheduler name. */
  readonly schedules: (schedulerName: string) => boolean;
  /** Default: no metrics. */
  readonly metrics?: SchedulerMetrics;
}

/** Adds the handlers. They are called at once for the objects that informers have already. */
export function addEventHandlers(
  config: EventHandlersConfig,
  podInformer: SharedInformer<Pod>,
  nodeInformer: SharedInformer<Node>,
): readonly HandlerRegistration[] {
  const handlers = new EventHandlers(config);
  const { metrics } = config;
  /** Wraps `handle` to measure its duration. */
  const timed = <A extends readonly unknown[]>(
    event: string,
    handle: (...args: A) => void,
  ): ((...args: A) => void) => {
    if (metrics === undefined) return handle;
    return (...args) => {
      const start = metrics.now();
      handle(...args);
      metrics.eventHandled(event, start);
    };
  };
  return [
    // Nodes first, so that pods are added to known nodes.
    nodeInformer.addEventHandler({
      onAdd: timed('NodeAdd', (node: Node) => handlers.nodeAdded(node)),
      onUpdate: timed('NodeUpdate', (before: Node, after: Node) =>
        handlers.nodeUpdated(before, after),
      ),
      onDelete: timed('NodeDelete', (node: Node) => handlers.nodeDeleted(node)),
    }),
    podInformer.addEventHandler({
      onAdd: timed('PodAdd', (pod: Pod) => handlers.podAdded(pod)),
      onUpdate: timed('PodUpdate', (before: Pod, after: Pod) => handlers.podUpdated(before, after)),
      onDelete: timed('PodDelete', (pod: Pod) => handlers.podDeleted(pod)),
    }),
  ];
}

export class EventHandlers {
  readonly #cache: SchedulerCache;
  readonly #queue: SchedulingQueue;
  readonly #waitingPods: WaitingPods;
  readonly #schedules: (schedulerName: string) => boolean;

  constructor(config: EventHandlersConfig) {
    this.#cache = config.cache;
    this.#queue = config.queue;
    this.#waitingPods = config.waitingPods;
    this.#schedules = config.schedules;
  }

  nodeAdded(node: Node): void {
    this.#cache.putNode(node);
    this.#queue.moveAll(nodeAdd, { after: node });
  }

  nodeUpdated(before: Node, after: Node): void {
    this.#cache.putNode(after);
    if (before.metadata.uid !== after.metadata.uid) {
      this.#queue.moveAll(nodeAdd, { after });
      return;
    }
    const event = nodeUpdateEvent(before, after);
    if (event !== undefined) this.#queue.moveAll(event, { before, after });
  }

  nodeDeleted(node: Node): void {
    this.#queue.moveAll(nodeDelete, { before: node });
    this.#cache.removeNode(node.metadata.name);
  }

  podAdded(pod: Pod): void {
    if (isFinished(pod)) return;
    if (pod.spec.nodeName) {
      this.#cache.putPod(new PodInfo(pod));
      // The pod was bound while it was in the queue, by another component or this scheduler.
      const nominatedNode = this.#queue.nominatedNode(pod.metadata.uid);
      this.#queue.delete(pod.metadata.uid);
      this.#queue.moveAll(assignedPodAdd, { after: pod });
      // The pod no longer needs the room on its nominated node.
      if (nominatedNode !== undefined && nominatedNode !== pod.spec.nodeName)
        this.#nominationFreed(pod);
    } else if (this.#schedules(pod.spec.schedulerName ?? '')) {
      this.#queue.add(new PodInfo(pod));
    }
  }

  podUpdated(before: Pod, after: Pod): void {
    // The pod was replaced by another one with its name, or has finished: its resources are free.
    if (before.metadata.uid !== after.metadata.uid || (isFinished(after) && !isFinished(before))) {
      this.podDeleted(before);
      this.podAdded(after);
    } else if (isFinished(after)) {
      // A finished pod counts nothing, before and after.
    } else if (isFinished(before) || (!before.spec.nodeName && after.spec.nodeName)) {
      this.podAdded(after);
    } else if (after.spec.nodeName) {
      this.#assignedPodUpdated(before, after);
    } else if (this.#schedules(after.spec.schedulerName ?? '')) {
      this.#waitingPodUpdated(before, after);
    }
  }

  podDeleted(pod: Pod): void {
    if (isFinished(pod)) return;
    const { uid } = pod.metadata;
    const nominatedNode = this.#queue.nominatedNode(uid) ?? pod.status.nominatedNodeName;
    this.#queue.delete(uid);
    if (this.#cache.isAssumed(uid)) {
      this.#assumedPodGoes(pod);
      return;
    }
    const counted = this.#cache.getPod(uid);
    this.#cache.removePod(uid);
    // The pod was counted on a node, which matters to other pods, whatever its last observed state
    // is.
    if (counted !== undefined) this.#queue.moveAll(assignedPodDelete, { before: counted.info.pod });
    else if (nominatedNode) this.#nominationFreed(pod);
  }

  #assignedPodUpdated(before: Pod, after: Pod): void {
    const old = this.#cache.getPod(after.metadata.uid)?.info ?? new PodInfo(before);
    const now = new PodInfo(after);
    this.#cache.putPod(now);
    const event = podUpdateEvent(old, now);
    if (event !== undefined) this.#queue.moveAll(event, { before, after });
  }

  #waitingPodUpdated(before: Pod, after: Pod): void {
    if (this.#cache.isAssumed(after.metadata.uid)) {
      if (after.metadata.deletionTimestamp && !before.metadata.deletionTimestamp)
        this.#assumedPodGoes(after);
      return;
    }
    this.#queue.update(new PodInfo(before), new PodInfo(after));
    if (
      before.status.nominatedNodeName &&
      before.status.nominatedNodeName !== after.status.nominatedNodeName
    ) {
      this.#nominationFreed(before);
    }
  }

  /**
   * Handles a pod that was deleted after its node was chosen: its resources there are free,
   * although its binding may be in flight (and will fail).
   */
  #assumedPodGoes(pod: Pod): void {
    const { uid } = pod.metadata;
    const waiting = this.#waitingPods.get(uid);
    if (waiting === undefined) this.#cache.forgetPod(uid);
    else waiting.reject('', 'removed');
    this.#queue.moveAll(assignedPodDelete, { before: pod });
  }

  /** Wakes pods of lower or equal priority that had to leave room for the nominated pod. */
  #nominationFreed(pod: Pod): void {
    const priority = pod.spec.priority ?? 0;
    this.#queue.moveAll(
      assignedPodDelete,
      { before: pod },
      (other) => (other.spec.priority ?? 0) <= priority,
    );
  }
}

/** Reports whether all containers of the pod have ended for good, so that it uses no resources. */
function isFinished(pod: Pod): boolean {
  return pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
}
