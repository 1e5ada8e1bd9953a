// The binding cycles: from Permit to PostBind, concurrently with the scheduling of the next pods.
// Each cycle ends with the pod bound, or requeued after everything that it reserved on its node was
// released.

import { pods } from '#api/groups/core/v1/index.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import type { Lister } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import type { SchedulerCache } from './cache/cache.ts';
import type { Extenders } from './extenders/extenders.ts';
import { errorFailure, type Failure, type FailureHandler, rejectedOn } from './failure-handler.ts';
import type { CycleState } from './framework/cycle-state.ts';
import { assignedPodDelete } from './framework/events.ts';
import type { Framework } from './framework/framework.ts';
import { onNode, type Pod } from './framework/objects.ts';
import type { PreBindPlugin } from './framework/plugin.ts';
import type { PodInfo } from './framework/pod-info.ts';
import { Status } from './framework/status.ts';
import type { SchedulerMetrics } from './metrics/scheduler-metrics.ts';
import { certainlyRefused } from './outcome.ts';
import type { PodEvents } from './pod-events.ts';
import type { PodStatusWriter } from './pod-status.ts';
import { NONE, type QueuedPod } from './queue/queued-pod.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';

export interface BindingCyclesConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly extenders: Extenders;
  readonly podLister: Lister<Pod>;
  readonly podStatus: PodStatusWriter;
  readonly events: PodEvents;
  readonly failures: FailureHandler;
  readonly metrics: SchedulerMetrics;
  /** Aborts requests that are still in flight. */
  readonly signal: AbortSignal;
}

export class BindingCycles {
  readonly #config: BindingCyclesConfig;
  /**
   * The number of cycles that are binding their pod through the API server. Cycles that wait for
   * Permit or PreBind do not count.
   */
  #binding = 0;
  /** Called when a binding ends. */
  #bindingEnded: () => void = () => undefined;
  /** By UID: the node to which a pod was nominated because its PreBind plugins take long. */
  readonly #nominated = new Map<string, string>();
  /** All cycles in flight. None rejects. */
  readonly #inFlight = new Set<Promise<void>>();
  #stopped = false;
  /**
   * Aborts together with #stopped: PreBind plugins may wait longer than a scheduler takes to stop.
   */
  readonly #stopping = new AbortController();

  constructor(config: BindingCyclesConfig) {
    this.#config = config;
    sharedByMany(this.#stopping.signal);
  }

  /** The number of pods that are being bound. */
  get count(): number {
    return this.#binding;
  }

  /** Resolves when fewer than `limit` pods are being bound, or when stopped. */
  async untilFewerThan(limit: number): Promise<void> {
    while (this.#binding >= limit && !this.#stopped) {
      await new Promise<void>((resolve) => {
        this.#bindingEnded = resolve;
      });
    }
  }

  /** Aborts PreBind plugins. Bindings in flight continue. */
  stop(): void {
    this.#stopped = true;
    this.#stopping.abort(new Error('the scheduler stops'));
    this.#bindingEnded();
  }

  /** Resolves when every cycle has ended. */
  async settled(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
  }

  /** Starts the binding cycle of a pod that is assumed to be on the node. */
  start(framework: Framework, state: CycleState, queued: QueuedPod, node: string): void {
    const waiting = framework.binding.waitOnPermit(queued.info);
    if (waiting !== undefined) void this.#nominate(queued.info, node);
    const run = this.#run(framework, state, queued, node, waiting).finally(() =>
      this.#inFlight.delete(run),
    );
    this.#inFlight.add(run);
  }

  /** Runs the cycle. Never rejects. */
  async #run(
    framework: Framework,
    state: CycleState,
    queued: QueuedPod,
    node: string,
    waiting: Promise<Status | undefined> | undefined,
  ): Promise<void> {
    try {
      const rejection = waiting === undefined ? undefined : await waiting;
      if (rejection !== undefined) {
        this.#undo(framework, state, queued, node, rejectedOn(node, rejection));
        return;
      }
      const preBinds = framework.binding.neededPreBinds(state, queued.info, node);
      if (preBinds instanceof Status) {
        this.#undo(framework, state, queued, node, errorFailure(preBinds));
        return;
      }
      // PreBind may take minutes, so it does not count as binding: other pods are bound meanwhile.
      if (preBinds.length > 0 && !(await this.#preBind(preBinds, framework, state, queued, node)))
        return;
      this.#binding++;
      await this.#bind(framework, state, queued, node).finally(() => {
        this.#binding--;
        this.#bindingEnded();
      });
    } catch (error) {
      this.#config.logger.error('scheduler: binding a pod failed unexpectedly', {
        pod: queued.info.key,
        node,
        err: error,
      });
      this.#undo(framework, state, queued, node, errorFailure(Status.error(error)));
    }
  }

  /** Runs PreBind. Returns whether the pod may be bound; if not, it is back in the queue. */
  async #preBind(
    preBinds: readonly PreBindPlugin[],
    framework: Framework,
    state: CycleState,
    queued: QueuedPod,
    node: string,
  ): Promise<boolean> {
    // The pod is no longer in flight for the queue, as in #bind.
    this.#config.queue.done(queued.info.uid);
    await this.#nominate(queued.info, node);
    const failure = await framework.binding.runPreBind(
      preBinds,
      state,
      queued.info,
      node,
      this.#stopping.signal,
    );
    if (failure === undefined) return true;
    // The queue has not kept the events since then, so a hint could be missed: the pod is retried
    // as after an error.
    this.#undo(framework, state, queued, node, {
      ...rejectedOn(node, failure),
      unschedulablePlugins: NONE,
      pendingPlugins: NONE,
    });
    return false;
  }

  /**
   * Writes the node into the pod's status, so that clients and a restarted scheduler see it before
   * the pod is bound.
   */
  async #nominate({ pod, uid }: PodInfo, node: string): Promise<void> {
    this.#nominated.set(uid, node);
    await this.#config.podStatus.nominate(pod, node);
  }

  async #bind(
    framework: Framework,
    state: CycleState,
    queued: QueuedPod,
    node: string,
  ): Promise<void> {
    const { queue, cache, podStatus, events, logger, metrics } = this.#config;
    const pod = queued.info;
    // No plugin rejects the pod after this point; a failure is retried without an event.
    queue.done(pod.uid);
    // An older «not scheduled» condition must not be written after the binding.
    await podStatus.settle(pod.uid);
    const failure = await this.#tryBind(framework, state, pod, node);
    if (failure !== undefined) {
      this.#undo(framework, state, queued, node, errorFailure(failure));
      return;
    }
    cache.finishBinding(pod.uid);
    this.#nominated.delete(pod.uid);
    metrics.attemptEnded('scheduled', framework.profileName, queued.attemptStart);
    metrics.podScheduled(queued.attempts, queued.initialAttemptMs, queued.wasFlushed);
    logger.debug('bound', { pod: pod.key, node, attempts: queued.attempts });
    events.report(
      pod.pod,
      'Normal',
      'Scheduled',
      `Successfully assigned ${pod.key} to ${node}`,
      'Binding',
    );
    try {
      framework.binding.runPostBind(state, pod, node);
    } catch (error) {
      // The pod is bound; a later error does not change that.
      logger.error('scheduler: PostBind plugin failed', { pod: pod.key, node, err: error });
    }
  }

  /**
   * Returns undefined once the pod is certainly bound to the node, a status once it is certainly
   * not bound by this call.
   */
  async #tryBind(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    node: string,
  ): Promise<Status | undefined> {
    const failure = await this.#runBind(framework, state, pod, node);
    if (failure === undefined || certainlyRefused(failure.cause)) return failure;
    // The response may be lost and the binding done. Forgetting the pod now could overcommit the
    // node.
    return (await this.#isBound(pod, node)) ? undefined : failure;
  }

  /** Binds the pod: an extender that binds takes precedence over the profile's plugins. */
  async #runBind(
    framework: Framework,
    state: CycleState,
    pod: PodInfo,
    node: string,
  ): Promise<Status | undefined> {
    const { extenders, signal } = this.#config;
    if (!extenders.none && extenders.binds(pod.pod)) {
      try {
        if (await extenders.bind(pod.pod, node)) return undefined;
      } catch (error) {
        return Status.error(error);
      }
    }
    return await framework.binding.runBind(state, pod, node, signal);
  }

  /** Reads the pod until the API server responds. Returns whether it is bound to the node. */
  async #isBound(pod: PodInfo, node: string): Promise<boolean> {
    const { client, clock, random, logger, podLister, signal } = this.#config;
    const { namespace = '', name } = pod.pod.metadata;
    const backoff = new wait.Backoff({
      durationMs: 1000,
      factor: 2,
      capMs: 10_000,
      jitter: 0.1,
      random,
    });
    for (;;) {
      const seen = podLister.get(namespace, name);
      if (seen?.metadata.uid === pod.uid && seen.spec.nodeName) return seen.spec.nodeName === node;
      try {
        const live = await client.resource(pods).namespace(namespace).get(name, { signal });
        return live.metadata.uid === pod.uid && live.spec.nodeName === node;
      } catch (error) {
        if (apierrors.isNotFound(error) || signal.aborted) return false;
        logger.warn('scheduler: checking whether a pod is bound failed, retrying', {
          pod: pod.key,
          node,
          err: error,
        });
        await clock.sleep(backoff.next(), signal).catch(() => undefined);
      }
    }
  }

  /**
   * Releases everything that the pod reserved on the node, and wakes pods that may need it; then
   * handles the failure.
   */
  #undo(
    framework: Framework,
    state: CycleState,
    queued: QueuedPod,
    node: string,
    failure: Failure,
  ): void {
    const { cache, queue, failures } = this.#config;
    const { info } = queued;
    framework.binding.runUnreserve(state, info, node);
    const held = cache.forgetPod(info.uid);
    // The pod itself is left out: it is requeued below, and its own resources do not help it.
    if (held)
      queue.moveAll(
        assignedPodDelete,
        { before: onNode(info.pod, node) },
        (other) => other.metadata.uid !== info.uid,
      );
    const nominated = this.#nominated.get(info.uid);
    this.#nominated.delete(info.uid);
    failures.handle(framework, queued, failure, nominated);
  }
}
