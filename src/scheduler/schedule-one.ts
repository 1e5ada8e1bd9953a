// Schedules one pod: chooses its node (scheduling-algorithm.ts), assumes the pod on it, reserves
// its resources, and starts its binding cycle (binding-cycle.ts). Even after an error, the pod ends
// in exactly one place: on its node, back in the queue (failure-handler.ts), or dropped because it
// is gone or bound.

import type { Logger } from '#machinery/log.ts';
import type { BindingCycles } from './binding-cycle.ts';
import type { SchedulerCache } from './cache/cache.ts';
import type { Snapshot } from './cache/snapshot.ts';
import type { Decision, DecisionLog } from './decisions.ts';
import type { Extenders } from './extenders/extenders.ts';
import { errorFailure, type Failure, type FailureHandler, rejectedOn } from './failure-handler.ts';
import { CycleState } from './framework/cycle-state.ts';
import { assignedPodDelete } from './framework/events.ts';
import { type Diagnosis, fitErrorMessage, NO_NODES_AVAILABLE } from './framework/fit-error.ts';
import type { Framework } from './framework/framework.ts';
import { onNode } from './framework/objects.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { Status } from './framework/status.ts';
import { untilFinished } from './framework/unfinished.ts';
import type { SchedulerMetrics } from './metrics/scheduler-metrics.ts';
import type { PodEvents } from './pod-events.ts';
import { NONE, type QueuedPod } from './queue/queued-pod.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';
import type { SchedulingAlgorithm } from './scheduling-algorithm.ts';

export interface PodSchedulerConfig {
  readonly logger: Logger;
  readonly cache: SchedulerCache;
  readonly snapshot: Snapshot;
  readonly queue: SchedulingQueue;
  readonly algorithm: SchedulingAlgorithm;
  readonly extenders: Extenders;
  readonly bindings: BindingCycles;
  readonly failures: FailureHandler;
  readonly events: PodEvents;
  readonly metrics: SchedulerMetrics;
  /** Where decisions are kept. Absent: nowhere. */
  readonly decisions?: DecisionLog;
  /** By profile. */
  readonly frameworks: ReadonlyMap<string, Framework>;
}

/**
 * Replaces a plugin among those that rejected a pod if the cluster had no nodes: the first node
 * wakes the pod.
 */
export const NO_NODES = '(no nodes)';

export class PodScheduler {
  readonly #config: PodSchedulerConfig;

  constructor(config: PodSchedulerConfig) {
    this.#config = config;
  }

  /**
   * Schedules a popped pod. Resolves when the next one may follow, while its binding cycle
   * continues. Never rejects.
   */
  async scheduleOne(queued: QueuedPod): Promise<void> {
    const { cache, queue, frameworks, events, failures, bindings, logger, metrics } = this.#config;
    const { info } = queued;
    const framework = frameworks.get(info.pod.spec.schedulerName ?? '');
    const deleting = info.pod.metadata.deletionTimestamp !== undefined;
    if (framework === undefined || deleting || cache.isAssumed(info.uid)) {
      // The pod belongs to another scheduler, is being deleted, or was assumed while an update
      // requeued it.
      queue.done(info.uid);
      if (deleting)
        events.report(
          info.pod,
          'Warning',
          'FailedScheduling',
          `skip schedule deleting pod: ${info.key}`,
          'Scheduling',
        );
      return;
    }
    const state = new CycleState();
    queued.attemptStart = metrics.now();
    try {
      const outcome = await this.#schedulingCycle(framework, state, info);
      if (typeof outcome !== 'string') {
        this.#keepFailure(framework, info, outcome);
        failures.handle(framework, queued, outcome);
        return;
      }
      bindings.start(framework, state, queued, outcome);
    } catch (error) {
      logger.error('scheduler: scheduling a pod failed unexpectedly', {
        pod: info.key,
        err: error,
      });
      cache.forgetPod(info.uid);
      failures.handle(framework, queued, errorFailure(Status.error(error)));
    }
  }

  /**
   * Returns the node, with the pod assumed on it and everything reserved; or the failure, with
   * nothing reserved.
   */
  async #schedulingCycle(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
  ): Promise<string | Failure> {
    const { cache, snapshot, queue, algorithm, extenders, metrics } = this.#config;
    const start = metrics.now();
    cache.updateSnapshot(snapshot);
    const decision = extenders.none
      ? untilFinished(() => algorithm.schedule(framework, state, pod))
      : algorithm.scheduleExtended(framework, state, pod, extenders);
    const result = decision instanceof Promise ? await decision : decision;
    switch (result.kind) {
      case 'noNodes':
        return {
          reason: 'Unschedulable',
          message: NO_NODES_AVAILABLE,
          unschedulablePlugins: new Set([NO_NODES]),
          pendingPlugins: NONE,
          nominatedNode: '',
        };
      case 'error':
        return errorFailure(result.status);
      case 'unfit':
        return this.#makeRoom(framework, state, pod, result.diagnosis);
      case 'node':
    }
    const { node } = result;
    this.#config.decisions?.add({
      ...identityOf(framework, pod),
      node,
      message: '',
      nominatedNode: '',
      evaluatedNodes: result.evaluatedNodes,
      feasibleNodes: result.feasibleNodes,
      scores: result.scores,
    });
    metrics.nodeChosen(start);
    cache.assumePod(pod, node);
    const nominated = queue.nominatedNode(pod.uid);
    queue.nominate(pod, '');
    // The room on another nominated node is free: pods of lower or equal priority may use it now.
    if (nominated !== undefined && nominated !== node) {
      queue.moveAll(
        assignedPodDelete,
        { before: onNode(pod.pod, nominated) },
        ({ spec }) => (spec.priority ?? 0) <= pod.priority,
      );
    }
    const rejection = reserveAndPermit(framework, state, pod, node);
    if (rejection === undefined) return node;
    framework.binding.runUnreserve(state, pod, node);
    cache.forgetPod(pod.uid);
    return rejectedOn(node, rejection);
  }

  #keepFailure(framework: Framework, pod: PodInfo, { message, nominatedNode }: Failure): void {
    const { decisions, snapshot } = this.#config;
    decisions?.add({
      ...identityOf(framework, pod),
      node: '',
      message,
      nominatedNode: nominatedNode ?? '',
      evaluatedNodes: snapshot.nodes.length,
      feasibleNodes: 0,
      scores: [],
    });
  }

  /** Runs the PostFilter plugins. If one makes room, the pod is retried when the room is there. */
  async #makeRoom(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    diagnosis: Diagnosis,
  ): Promise<Failure> {
    const { reason, unschedulablePlugins, pendingPlugins } = {
      reason: 'Unschedulable' as const,
      ...diagnosis,
    };
    if (framework.plugins.postFilter.length === 0) {
      return {
        reason,
        message: fitErrorMessage(diagnosis),
        unschedulablePlugins,
        pendingPlugins,
        nominatedNode: '',
      };
    }
    const { message: postFilterMessage, nominatedNode } = await framework.runPostFilter(
      state,
      pod,
      diagnosis.statuses,
    );
    const message = fitErrorMessage({ ...diagnosis, postFilterMessage });
    return { reason, message, unschedulablePlugins, pendingPlugins, nominatedNode };
  }
}

/** Returns the fields of a decision that name its pod. */
function identityOf(
  { profileName: profile }: Framework,
  { pod: { metadata }, uid }: PodInfo,
): Pick<Decision, 'profile' | 'namespace' | 'pod' | 'uid'> {
  return { profile, namespace: metadata.namespace ?? '', pod: metadata.name, uid };
}

/**
 * Runs Reserve and Permit. Returns the status of a rejection; an exception of a plugin counts as
 * one, because reservations have to be undone.
 */
function reserveAndPermit(
  framework: Framework,
  state: CycleState,
  pod: PodInfo,
  node: string,
): Status | undefined {
  try {
    const status =
      framework.binding.runReserve(state, pod, node) ??
      framework.binding.runPermit(state, pod, node);
    return status?.code === 'Wait' ? undefined : status;
  } catch (error) {
    return Status.error(error);
  }
}
