// Handles a pod that was not scheduled: its place in the queue, its condition and its event.

import type { Lister } from '#client/informers/index.ts';
import type { Logger } from '#machinery/log.ts';
import { fitErrorMessage } from './framework/fit-error.ts';
import type { Framework } from './framework/framework.ts';
import { NodeToStatus } from './framework/node-to-status.ts';
import type { Pod } from './framework/objects.ts';
import { PodInfo } from './framework/pod-info.ts';
import type { Status } from './framework/status.ts';
import type { SchedulerMetrics } from './metrics/scheduler-metrics.ts';
import type { PodEvents } from './pod-events.ts';
import type { PodStatusWriter } from './pod-status.ts';
import { NONE, type QueuedPod } from './queue/queued-pod.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';
import { diagnosisOf } from './scheduling-algorithm.ts';

/** Why a pod was not scheduled, for its condition, its event and the queue. */
export interface Failure {
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
  /** Empty after an error, like the next field. */
  readonly unschedulablePlugins: ReadonlySet<string>;
  readonly pendingPlugins: ReadonlySet<string>;
  /** '' removes the pod's nomination; undefined leaves it. */
  readonly nominatedNode?: string;
}

/** Returns the failure for an error, as opposed to a rejection by a plugin. */
export function errorFailure(status: Status): Failure {
  return {
    reason: 'SchedulerError',
    message: status.message,
    unschedulablePlugins: NONE,
    pendingPlugins: NONE,
    nominatedNode: '',
  };
}

/** Returns the failure of a pod that Reserve or Permit has rejected, after the node was chosen. */
export function rejectedOn(node: string, status: Status): Failure {
  if (!status.rejected) return errorFailure(status);
  const statuses = new NodeToStatus();
  statuses.set({ name: node }, status);
  const diagnosis = diagnosisOf(statuses, 1);
  const { unschedulablePlugins, pendingPlugins } = diagnosis;
  return {
    reason: 'Unschedulable',
    message: fitErrorMessage(diagnosis),
    unschedulablePlugins,
    pendingPlugins,
    nominatedNode: '',
  };
}

export interface FailureHandlerConfig {
  readonly queue: SchedulingQueue;
  readonly podLister: Lister<Pod>;
  readonly podStatus: PodStatusWriter;
  readonly events: PodEvents;
  readonly metrics: SchedulerMetrics;
  readonly logger: Logger;
}

export class FailureHandler {
  readonly #config: FailureHandlerConfig;
  #stopped = false;

  constructor(config: FailureHandlerConfig) {
    this.#config = config;
  }

  /** Stops handling failures: the pods are left to the next scheduler. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * Requeues the pod, and reports the reason. A pod that is gone or bound is dropped. `nominated`:
   * the node to which the binding cycle has nominated the pod, if it has; the informer may not show
   * that yet.
   */
  handle(framework: Framework, queued: QueuedPod, failure: Failure, nominated?: string): void {
    const { queue, podLister, podStatus, events, logger, metrics } = this.#config;
    const { info } = queued;
    const { namespace = '', name } = info.pod.metadata;
    queued.unschedulablePlugins = failure.unschedulablePlugins;
    queued.pendingPlugins = failure.pendingPlugins;
    if (this.#stopped) return;
    const result = failure.reason === 'Unschedulable' ? 'unschedulable' : 'error';
    metrics.attemptEnded(result, framework.profileName, queued.attemptStart);
    const now = podLister.get(namespace, name);
    if (now === undefined || now.metadata.uid !== info.uid || now.spec.nodeName) {
      // The pod is gone or bound: by another scheduler, or by a request that seemed to fail.
      queue.done(info.uid);
      return;
    }
    const current = now === info.pod ? info : new PodInfo(now);
    queue.addUnschedulable(queued, current);
    if (failure.nominatedNode !== undefined) queue.nominate(current, failure.nominatedNode);
    if (failure.reason === 'SchedulerError')
      logger.warn('a pod could not be scheduled', { pod: info.key, reason: failure.message });
    else logger.debug('a pod fits nowhere', { pod: info.key, reason: failure.message });
    events.report(now, 'Warning', 'FailedScheduling', failure.message, 'Scheduling');
    podStatus.notScheduled(nominated === undefined ? now : withNomination(now, nominated), failure);
  }
}

function withNomination(pod: Pod, nominatedNodeName: string): Pod {
  return { ...pod, status: { ...pod.status, nominatedNodeName } };
}
