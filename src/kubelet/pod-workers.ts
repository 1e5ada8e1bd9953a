// One worker per pod UID moves the pod from running to terminating to terminated. A pod never has
// two syncs at once. Workers are independent: none waits for another, and a failed one is retried
// by itself.
//
// The states of a pod, in this order:
// - syncing: syncPod runs after every change, until the pod has to terminate or has ended.
// - terminating: syncTerminatingPod stops the containers; retried until it succeeds.
// - terminated: syncTerminatedPod releases the pod's resources on the node; retried until it
//   succeeds.
// - finished: nothing runs any more; the worker keeps the UID until `forget`, so that the pod is
//   never started again.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import { podUid, type Pod, type PodStatus } from './types.ts';

/**
 * Changes the status of a killed pod (to Failed, with the reason), before its containers are
 * stopped.
 */
export type StatusChange = (status: PodStatus) => PodStatus;

export interface KillOptions {
  /** The grace period of the containers in seconds, instead of the pod's. */
  readonly gracePeriodSeconds?: number;
  readonly status?: StatusChange;
}

export interface PodUpdate {
  /** 'adopt': a pod that is not known yet, with which there is nothing to do. */
  readonly type: 'create' | 'adopt' | 'update' | 'sync' | 'kill';
  readonly pod: Pod;
  /** The options of type 'kill'. */
  readonly kill?: KillOptions;
  /**
   * The pod is not desired: only the runtime has it, and `pod` is reconstructed from its labels.
   */
  readonly runtimeOnly?: boolean;
}

export interface SyncResult {
  /** The pod has ended: all its containers have, and none may restart. */
  readonly ended: boolean;
  /** The wall-clock time of the next sync, in milliseconds, such as the end of a back-off. */
  readonly retryAt?: number;
  /** Another sync is needed at once. */
  readonly again?: boolean;
}

/** The steps of a worker. Each may reject: it is then retried after a back-off. */
export interface PodSyncer {
  /** Takes over a pod that another kubelet has synced. Its first sync follows a change. */
  adoptPod(pod: Pod): void;
  syncPod(pod: Pod, first: boolean, signal: AbortSignal): Promise<SyncResult>;
  /**
   * Stops the containers. Resolves when none runs. `gracePeriodSeconds`: the maximum grace period,
   * from now.
   */
  syncTerminatingPod(
    pod: Pod,
    gracePeriodSeconds: number,
    status: StatusChange | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /** Stops the containers of a pod that only the runtime has. */
  syncTerminatingRuntimePod(pod: Pod, signal: AbortSignal): Promise<void>;
  syncTerminatedPod(pod: Pod, signal: AbortSignal): Promise<void>;
}

export interface PodWorkersConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Records how long syncs take. */
  readonly metrics?: Pick<KubeletMetrics, 'podSynced' | 'timer'>;
  /**
   * Reports whether the last observation of the runtime shows nothing of this pod that could run.
   */
  readonly isStopped: (pod: Pod) => boolean;
  /** The delay after a failed sync: doubles from this to `maxBackoffMs`. Default: 1,000. */
  readonly backoffMs?: number;
  /** The maximum delay in milliseconds. Default: 10,000. */
  readonly maxBackoffMs?: number;
}

export type PodWorkState = 'syncing' | 'terminating' | 'terminated' | 'finished';

interface Worker {
  pod: Pod;
  state: PodWorkState;
  runtimeOnly: boolean;
  /** A sync is in flight. */
  busy: boolean;
  /** An update arrived since the running sync began. */
  pending: boolean;
  /** syncPod has run at least once, here or in the kubelet from which the pod was taken over. */
  synced: boolean;
  gracePeriodSeconds: number;
  statusChange: StatusChange | undefined;
  failures: number;
  retry: Timer | undefined;
  /** Ends the running sync. Absent between syncs: a controller costs a kilobyte. */
  abort: AbortController | undefined;
  /** The pod was gone from the API when it was killed. */
  deleted: boolean;
}

export class PodWorkers {
  readonly #config: PodWorkersConfig;
  readonly #workers = new Map<string, Worker>();
  readonly #idleWaiters = new Set<() => void>();
  #stopped = false;
  /** Set by `start`. */
  #syncer: PodSyncer | undefined;
  #onFinished: (pod: Pod) => void = () => undefined;

  constructor(config: PodWorkersConfig) {
    this.#config = config;
  }

  /**
   * Sets the syncer and starts the workers. Must be called once, before the first update: the
   * syncer itself depends on the workers' states. `onFinished`: called when a pod becomes finished,
   * and again for each later update.
   */
  start(syncer: PodSyncer, onFinished: (pod: Pod) => void): void {
    this.#syncer = syncer;
    this.#onFinished = onFinished;
  }

  /** Passes an update to the pod's worker; returns at once. */
  update(update: PodUpdate): void {
    if (this.#stopped) return;
    const uid = podUid(update.pod);
    const known = this.#workers.get(uid);
    if (known === undefined) {
      if (update.type === 'sync') return;
      const worker = this.#makeWorker(update);
      this.#workers.set(uid, worker);
      if (update.type === 'adopt') {
        this.#started().adoptPod(update.pod);
        return;
      }
      this.#considerTermination(worker, update);
      this.#wake(worker);
      return;
    }
    if (update.type !== 'sync' && update.runtimeOnly !== true) {
      known.pod = update.pod;
      known.runtimeOnly = false;
    }
    if (known.state === 'finished') {
      if (update.type !== 'sync') this.#onFinished(known.pod);
      return;
    }
    this.#considerTermination(known, update);
    this.#wake(known);
  }

  /** Syncs the pod again, unless it is finished. */
  sync(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker !== undefined && worker.state !== 'finished') this.#wake(worker);
  }

  state(uid: string): PodWorkState | undefined {
    return this.#workers.get(uid)?.state;
  }

  /** Reports whether containers of the pod may be running; undefined for an unknown pod. */
  couldHaveRunningContainers(uid: string): boolean | undefined {
    const state = this.state(uid);
    return state === undefined ? undefined : state === 'syncing' || state === 'terminating';
  }

  isFinished(uid: string): boolean {
    return this.state(uid) === 'finished';
  }

  isTerminationRequested(uid: string): boolean {
    const state = this.state(uid);
    return state !== undefined && state !== 'syncing';
  }

  /** Reports whether every known pod runs, and no sync is in flight, pending or to be retried after a failure. */
  get isIdle(): boolean {
    for (const { state, busy, failures } of this.#workers.values())
      if (state !== 'syncing' || busy || failures > 0) return false;
    return true;
  }

  /** Returns all known pods with their states. */
  *known(): Iterable<{
    readonly pod: Pod;
    readonly state: PodWorkState;
    readonly runtimeOnly: boolean;
  }> {
    for (const worker of this.#workers.values())
      yield { pod: worker.pod, state: worker.state, runtimeOnly: worker.runtimeOnly };
  }

  /** Drops a finished pod. Does nothing for any other. */
  forget(uid: string): void {
    if (this.isFinished(uid)) this.#workers.delete(uid);
  }

  /**
   * Aborts running syncs; none starts afterwards. Resolves when no sync runs. Containers keep
   * running.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const worker of this.#workers.values()) {
      worker.retry?.cancel();
      worker.retry = undefined;
      worker.abort?.abort(new Error('the kubelet stops'));
    }
    while ([...this.#workers.values()].some((worker) => worker.busy)) {
      await new Promise<void>((resolve) => this.#idleWaiters.add(resolve));
    }
  }

  #makeWorker(update: PodUpdate): Worker {
    return {
      pod: update.pod,
      state: 'syncing',
      runtimeOnly: update.runtimeOnly === true,
      busy: false,
      pending: false,
      synced: update.type === 'adopt',
      gracePeriodSeconds: Number.POSITIVE_INFINITY,
      statusChange: undefined,
      failures: 0,
      retry: undefined,
      abort: undefined,
      deleted: false,
    };
  }

  /** Moves the worker to the state terminating if the update or the pod's status requires it. */
  #considerTermination(worker: Worker, update: PodUpdate): void {
    const pod = worker.pod;
    const phase = pod.status?.phase;
    const ended = phase === 'Failed' || phase === 'Succeeded';
    if (worker.state === 'syncing') {
      // A starting kubelet sees pods that ended before: they are cleaned up, not started again.
      if (ended && !worker.synced && update.type !== 'kill' && this.#config.isStopped(pod)) {
        worker.state = 'terminated';
        return;
      }
      const asked = update.type === 'kill' || Boolean(pod.metadata.deletionTimestamp) || ended;
      if (!asked) return;
      worker.state = 'terminating';
      this.#interrupt(worker);
    }
    if (worker.state !== 'terminating') return;
    if (update.kill?.status !== undefined) worker.statusChange = update.kill.status;
    const grace = gracePeriod(pod, update.kill?.gracePeriodSeconds);
    if (grace < worker.gracePeriodSeconds) {
      // The new grace period is shorter than the running one.
      if (worker.gracePeriodSeconds !== Number.POSITIVE_INFINITY) this.#interrupt(worker);
      worker.gracePeriodSeconds = grace;
    }
  }

  #interrupt(worker: Worker): void {
    if (worker.busy) worker.abort?.abort(new Error('the pod has to terminate'));
  }

  #wake(worker: Worker): void {
    worker.retry?.cancel();
    worker.retry = undefined;
    if (worker.busy) {
      worker.pending = true;
      return;
    }
    worker.busy = true;
    void this.#run(worker);
  }

  async #run(worker: Worker): Promise<void> {
    do {
      worker.pending = false;
      if (worker.abort === undefined || worker.abort.signal.aborted)
        worker.abort = new AbortController();
      const { signal } = worker.abort;
      const stateBefore = worker.state;
      const { metrics } = this.#config;
      const seconds = metrics?.timer();
      const operation = operationOf(worker);
      try {
        const result = await this.#syncOnce(worker, signal);
        worker.failures = 0;
        if (result.again === true || worker.state !== stateBefore) worker.pending = true;
        else if (result.retryAt !== undefined && !worker.pending)
          this.#retryIn(worker, result.retryAt - this.#config.clock.now());
      } catch (error) {
        if (!signal.aborted) this.#failed(worker, error);
        else if (!this.#stopped) worker.pending = true;
      }
      if (seconds !== undefined) metrics?.podSynced(operation, seconds());
    } while (worker.pending && !this.#stopped && this.#stateOf(worker) !== 'finished');
    worker.busy = false;
    worker.abort = undefined;
    for (const waiter of this.#idleWaiters) waiter();
    this.#idleWaiters.clear();
  }

  /** Returns the present state. After an await, a state that was read before is stale. */
  #stateOf(worker: Worker): PodWorkState {
    return worker.state;
  }

  #started(): PodSyncer {
    if (this.#syncer === undefined) throw new Error('the pod workers have not been started');
    return this.#syncer;
  }

  async #syncOnce(worker: Worker, signal: AbortSignal): Promise<SyncResult> {
    const syncer = this.#started();
    const pod = worker.pod;
    switch (worker.state) {
      case 'syncing': {
        const first = !worker.synced;
        worker.synced = true;
        const result = await syncer.syncPod(pod, first, signal);
        if (result.ended && worker.state === 'syncing') {
          worker.state = 'terminating';
          worker.gracePeriodSeconds = gracePeriod(worker.pod, undefined);
        }
        return result;
      }
      case 'terminating':
        if (worker.runtimeOnly) await syncer.syncTerminatingRuntimePod(pod, signal);
        else
          await syncer.syncTerminatingPod(
            pod,
            worker.gracePeriodSeconds,
            worker.statusChange,
            signal,
          );
        // An orphan has no resources to release: only its spec could name them.
        worker.state = worker.runtimeOnly ? 'finished' : 'terminated';
        if (worker.runtimeOnly) this.#onFinished(worker.pod);
        return { ended: true };
      case 'terminated':
        await syncer.syncTerminatedPod(pod, signal);
        worker.state = 'finished';
        this.#onFinished(worker.pod);
        return { ended: true };
      case 'finished':
        return { ended: true };
    }
  }

  #failed(worker: Worker, err: unknown): void {
    this.#config.logger.warn('pod sync failed', {
      pod: `${worker.pod.metadata.namespace}/${worker.pod.metadata.name}`,
      uid: podUid(worker.pod),
      state: worker.state,
      err,
    });
    if (worker.pending) return;
    const base = this.#config.backoffMs ?? 1000;
    const max = this.#config.maxBackoffMs ?? 10_000;
    const delay = Math.min(base * 2 ** worker.failures, max);
    worker.failures++;
    this.#retryIn(worker, delay * (1 + this.#config.random.float() * 0.5));
  }

  #retryIn(worker: Worker, delayMs: number): void {
    if (this.#stopped) return;
    worker.retry = this.#config.clock.setTimer(Math.max(delayMs, 1), () => {
      worker.retry = undefined;
      this.#wake(worker);
    });
  }
}

/** The label of the metrics of a sync. */
function operationOf(worker: Worker): 'create' | 'sync' | 'kill' | 'terminated' {
  if (worker.state === 'terminating') return 'kill';
  if (worker.state !== 'syncing') return 'terminated';
  return worker.synced ? 'sync' : 'create';
}

/**
 * Returns the grace period in seconds: of the kill request, or of the deletion, or of the spec. At
 * least one, so that a container can end by itself.
 */
function gracePeriod(pod: Pod, override: number | undefined): number {
  const seconds =
    override ??
    pod.metadata.deletionGracePeriodSeconds ??
    pod.spec?.terminationGracePeriodSeconds ??
    30;
  return Math.max(seconds, 1);
}
