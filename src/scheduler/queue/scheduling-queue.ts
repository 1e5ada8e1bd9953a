// The queue of pods that wait to be scheduled.
// - A new pod becomes active. `pop` passes the next active pod to the scheduler, which binds it or
//   returns it.
// - A rejected pod is unschedulable: it waits for an event that may help it (see hints.ts), at most
//   five minutes. After the event it is active, or in back-off until its back-off is over.
// - A pod that returns because of an error goes to back-off at once.
// - A pod that PreEnqueue rejects is gated: it is not attempted, and only an event for which its
//   plugin registered checks it again.

import { type Clock, setPoll, type Timer } from '#machinery/clock.ts';
import { KeyedHeap } from '#machinery/collections/heap.ts';
import type { Logger } from '#machinery/log.ts';
import { podUpdateEvent } from '../framework/changes.ts';
import {
  type ClusterEvent,
  type EventObjects,
  forceActivate,
  isWildcard,
  unschedulableTimeout,
} from '../framework/events.ts';
import type { PodNominator } from '../framework/handle.ts';
import type { Pod } from '../framework/objects.ts';
import type { PreEnqueuePlugin, QueueSortPlugin } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { SchedulerMetrics } from '../metrics/scheduler-metrics.ts';
import { type EventRegistrations, QueueingHints, type Requeue } from './hints.ts';
import { InFlight } from './in-flight.ts';
import { Nominator } from './nominator.ts';
import { backoffMs, NONE, type Place, QueuedPod } from './queued-pod.ts';
import { UnschedulablePods } from './unschedulable-pods.ts';

export interface SchedulingQueueConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly less: QueueSortPlugin['less'];
  /** By profile. Default: none. */
  readonly preEnqueue?: ReadonlyMap<string, readonly PreEnqueuePlugin[]>;
  /** By profile and plugin. Default: none. */
  readonly registrations?: EventRegistrations;
  /** Default: 1 second. */
  readonly initialBackoffMs?: number;
  /** Default: 10 seconds. */
  readonly maxBackoffMs?: number;
  /**
   * How long a pod stays unschedulable without an event that may help it, in milliseconds. Default:
   * 5 minutes.
   */
  readonly maxUnschedulableMs?: number;
  /**
   * If no pod is active, `pop` takes the pod whose back-off ends next, except after an error.
   * Default: true, as upstream.
   */
  readonly popFromBackoff?: boolean;
  /** Receives the nominations of the pods in the queue. Default: a new one. */
  readonly nominator?: Nominator;
  /** Default: no metrics. */
  readonly metrics?: SchedulerMetrics;
}

/** The event of a pod that returns after an attempt, for metrics. */
const ATTEMPT_FAILED = 'ScheduleAttemptFailure';
/** The period of checking for pods that have been unschedulable for too long. */
const FLUSH_INTERVAL_MS = 30_000;

export class SchedulingQueue implements PodNominator {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #preEnqueue: ReadonlyMap<string, readonly PreEnqueuePlugin[]>;
  readonly #hints: QueueingHints;
  readonly #backoff: { readonly initialMs: number; readonly maxMs: number };
  readonly #maxUnschedulableMs: number;
  readonly #popFromBackoff: boolean;
  readonly #metrics: SchedulerMetrics | undefined;

  /** Every pod in one of the places below, by UID; its `place` names the place. */
  readonly #pods = new Map<string, QueuedPod>();
  readonly #active: KeyedHeap<string, QueuedPod>;
  readonly #backoffQ = backoffHeap();
  readonly #errorBackoffQ = backoffHeap();
  readonly #unschedulable = new UnschedulablePods();
  readonly #gated = new UnschedulablePods();
  readonly #inFlight = new InFlight();
  readonly #nominator: Nominator;

  #sequence = 0;
  #timer: Timer | undefined;
  /** When #timer fires, on the monotonic clock. */
  #timerDue = Number.POSITIVE_INFINITY;
  /** Set while pop() waits. */
  #wake: (() => void) | undefined;

  constructor(config: SchedulingQueueConfig) {
    this.#clock = config.clock;
    this.#logger = config.logger;
    this.#preEnqueue = config.preEnqueue ?? new Map();
    this.#hints = new QueueingHints(
      config.registrations ?? new Map(),
      config.logger,
      config.metrics,
    );
    this.#backoff = {
      initialMs: config.initialBackoffMs ?? 1000,
      maxMs: config.maxBackoffMs ?? 10_000,
    };
    this.#maxUnschedulableMs = config.maxUnschedulableMs ?? 5 * 60_000;
    this.#popFromBackoff = config.popFromBackoff ?? true;
    this.#metrics = config.metrics;
    this.#nominator = config.nominator ?? new Nominator();
    this.#active = new KeyedHeap<string, QueuedPod>({
      keyOf: (pod) => pod.info.uid,
      less: config.less,
    });
  }

  /** Handles back-offs and timeouts until the signal aborts. */
  run(signal: AbortSignal): void {
    if (signal.aborted) return;
    const flush = setPoll(this.#clock, FLUSH_INTERVAL_MS, () => this.#flushUnschedulable(), {
      mustRun: () => this.#unschedulable.size > 0,
    });
    const stop = (): void => {
      flush.cancel();
      this.#timer?.cancel();
      this.#timer = undefined;
      this.#timerDue = Number.POSITIVE_INFINITY;
      this.#wake?.();
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#armTimer();
  }

  /** Adds a pod without a node. A pod that is in the queue already is updated. */
  add(info: PodInfo): void {
    const present = this.#pods.get(info.uid);
    if (present !== undefined) {
      this.update(present.info, info);
      return;
    }
    if (this.#inFlight.has(info.uid)) return;
    const pod = this.#newPod(info);
    this.#nominator.nominate(info, info.pod.status.nominatedNodeName ?? '');
    this.#moveToActive(pod, 'PodAdd');
  }

  /**
   * Updates a pod without a node. For a pod in flight, the update takes effect when it is requeued.
   */
  update(before: PodInfo, after: PodInfo): void {
    const event = podUpdateEvent(before, after);
    const objects = { before: before.pod, after: after.pod };
    if (this.#inFlight.has(after.uid)) {
      if (event !== undefined) this.#inFlight.record(event, objects);
      return;
    }
    const pod = this.#pods.get(after.uid);
    if (pod === undefined) {
      this.add(after);
      return;
    }
    this.#nominator.update(before, after);
    pod.info = after;
    if (pod.place === 'active') {
      // The pod's priority, or another field that decides the order, may have changed.
      this.#active.put(pod);
    } else if (event !== undefined && (pod.place === 'unschedulable' || pod.place === 'gated')) {
      this.#requeue(pod, this.#hints.worthRequeuing(pod, event, objects), event.label);
    }
  }

  /** Deletes a pod that is gone or has a node. */
  delete(uid: string): void {
    this.#nominator.remove(uid);
    const pod = this.#pods.get(uid);
    if (pod !== undefined) this.#moveTo(pod, 'out');
  }

  /**
   * Returns the pod to schedule next, once there is one; undefined once the signal aborts. `done`
   * or `addUnschedulable` must follow.
   */
  async pop(signal: AbortSignal): Promise<QueuedPod | undefined> {
    for (;;) {
      if (signal.aborted) return undefined;
      const pod = this.tryPop();
      if (pod !== undefined) return pod;
      await this.#untilWoken(signal);
    }
  }

  /** Returns the pod to schedule next; undefined if there is none now. Otherwise like `pop`. */
  tryPop(): QueuedPod | undefined {
    for (;;) {
      const pod = this.#active.peek() ?? (this.#popFromBackoff ? this.#backoffQ.peek() : undefined);
      if (pod === undefined) return undefined;
      this.#moveTo(pod, 'out');
      if (!this.#inFlight.add(pod.info.uid)) {
        this.#logger.error(
          'a pod was queued while it was being scheduled; the second entry is dropped',
          {
            pod: pod.info.key,
          },
        );
        continue;
      }
      pod.attempts++;
      pod.unschedulablePlugins = NONE;
      pod.pendingPlugins = NONE;
      return pod;
    }
  }

  /** Records that a popped pod need not return to the queue. */
  done(uid: string): void {
    this.#inFlight.done(uid);
  }

  /**
   * Returns a popped pod that could not be scheduled: `unschedulablePlugins` and `pendingPlugins`
   * contain the plugins that rejected it; both are empty after an error. `info`: the newest version
   * of the pod.
   */
  addUnschedulable(pod: QueuedPod, info: PodInfo = pod.info): void {
    const events = this.#inFlight.eventsSince(info.uid);
    this.#inFlight.done(info.uid);
    const present = this.#pods.get(info.uid);
    if (present !== undefined) {
      this.#logger.error('scheduling queue: pod is already queued', {
        pod: info.key,
        place: present.place,
      });
      return;
    }
    pod.info = info;
    pod.wasFlushed = false;
    const broke = pod.unschedulablePlugins.size === 0 && pod.pendingPlugins.size === 0;
    if (broke) {
      pod.consecutiveErrors++;
    } else {
      pod.unschedulableCount++;
      pod.consecutiveErrors = 0;
    }
    pod.timestampMs = this.#clock.monotonic();
    pod.backoffUntilMs = pod.timestampMs + backoffMs(pod, this.#backoff);
    let strategy: Requeue = broke ? 'afterBackoff' : 'skip';
    for (const { event, objects } of events) {
      const worth = this.#hints.worthRequeuing(pod, event, objects);
      if (worth !== 'skip' && strategy !== 'immediately') strategy = worth;
    }
    this.#pods.set(info.uid, pod);
    if (strategy === 'skip') this.#moveTo(pod, 'unschedulable', ATTEMPT_FAILED);
    else this.#requeue(pod, strategy, ATTEMPT_FAILED);
  }

  /**
   * Handles an event: moves the pods that it may help. `filter`: returns false for pods to leave
   * out.
   */
  moveAll(event: ClusterEvent, objects: EventObjects, filter?: (pod: Pod) => boolean): void {
    this.#inFlight.record(event, objects);
    const pods = isWildcard(event) ? [...this.#unschedulable.values()] : this.#interestedIn(event);
    for (const pod of pods) {
      if (filter !== undefined && !filter(pod.info.pod)) continue;
      this.#requeue(pod, this.#hints.worthRequeuing(pod, event, objects), event.label);
    }
  }

  /**
   * Queues these pods now, without back-off, whichever plugins rejected them. Unknown pods are
   * ignored.
   */
  activate(pods: readonly Pod[]): void {
    for (const { metadata } of pods) {
      const pod = this.#pods.get(metadata.uid);
      if (pod === undefined) this.#inFlight.record(forceActivate, { after: { metadata } });
      else if (pod.place !== 'active') this.#moveToActive(pod, forceActivate.label);
    }
  }

  /** Nominates the pod to this node; '' removes the nomination. */
  nominate(info: PodInfo, node: string): void {
    this.#nominator.nominate(info, node);
  }

  /** See PodNominator.isEmpty. */
  isEmpty(): boolean {
    return this.#nominator.isEmpty();
  }

  nominatedPodsForNode(node: string): readonly PodInfo[] {
    return this.#nominator.nominatedPodsForNode(node);
  }

  nominatedNode(uid: string): string | undefined {
    return this.#nominator.nominatedNode(uid);
  }

  get(uid: string): QueuedPod | undefined {
    return this.#pods.get(uid);
  }

  /** Returns the number of pods in each place, for metrics and tests. */
  counts(): Readonly<
    Record<'active' | 'backoff' | 'unschedulable' | 'gated' | 'inFlight' | 'inFlightEvents', number>
  > {
    return {
      active: this.#active.size,
      backoff: this.#backoffQ.size + this.#errorBackoffQ.size,
      unschedulable: this.#unschedulable.size,
      gated: this.#gated.size,
      inFlight: this.#inFlight.size,
      inFlightEvents: this.#inFlight.eventCount,
    };
  }

  /** Returns the number of kept events by event, for metrics. */
  inFlightEvents(): Readonly<Record<string, number>> {
    return this.#inFlight.countsByEvent();
  }

  /** Returns the pods that wait for an event, for metrics. */
  waiting(): readonly QueuedPod[] {
    return [...this.#unschedulable.values(), ...this.#gated.values()];
  }

  #newPod(info: PodInfo): QueuedPod {
    const pod = new QueuedPod(info, this.#clock.monotonic(), ++this.#sequence);
    this.#pods.set(info.uid, pod);
    return pod;
  }

  #interestedIn(event: ClusterEvent): readonly QueuedPod[] {
    if (this.#unschedulable.size === 0 && this.#gated.size === 0) return [];
    const plugins = this.#hints.interestedPlugins(event);
    const pods = this.#unschedulable.refusedBy(plugins);
    return this.#gated.size === 0 ? pods : [...pods, ...this.#gated.refusedBy(plugins)];
  }

  /** Requeues a pod. `event`: the reason, for metrics, also in the methods below. */
  #requeue(pod: QueuedPod, strategy: Requeue, event: string): void {
    if (strategy === 'skip') return;
    if (strategy === 'immediately' || pod.backoffUntilMs <= this.#clock.monotonic())
      this.#moveToActive(pod, event);
    else if (this.#passesPreEnqueue(pod, event))
      this.#moveTo(pod, wasBroken(pod) ? 'errorBackoff' : 'backoff', event);
  }

  #moveToActive(pod: QueuedPod, event: string): void {
    if (!this.#passesPreEnqueue(pod, event)) return;
    pod.initialAttemptMs ??= this.#clock.monotonic();
    this.#moveTo(pod, 'active', event);
  }

  /** Runs PreEnqueue. If a plugin rejects the pod, it is gated afterwards. */
  #passesPreEnqueue(pod: QueuedPod, event: string): boolean {
    const plugins = this.#preEnqueue.get(pod.info.pod.spec.schedulerName ?? '');
    if (plugins === undefined) return true;
    for (const plugin of plugins) {
      const answer = plugin.preEnqueue(pod.info);
      if (answer === undefined) continue;
      if (answer.code === 'Error') {
        this.#logger.error('PreEnqueue failed; the pod is held back', {
          plugin: plugin.name,
          pod: pod.info.key,
          err: answer.cause,
        });
      }
      // Removed from its place first: places are indexed by the plugins that are about to change.
      this.#moveTo(pod, 'out');
      this.#pods.set(pod.info.uid, pod);
      pod.unschedulablePlugins = new Set([plugin.name]);
      pod.pendingPlugins = NONE;
      this.#moveTo(pod, 'gated', event);
      return false;
    }
    return true;
  }

  /** Moves a pod from one place to another; no other method does. */
  #moveTo(pod: QueuedPod, place: Place, event = ''): void {
    const { uid } = pod.info;
    switch (pod.place) {
      case 'active':
        this.#active.delete(uid);
        break;
      case 'backoff':
        this.#backoffQ.delete(uid);
        break;
      case 'errorBackoff':
        this.#errorBackoffQ.delete(uid);
        break;
      case 'unschedulable':
        this.#unschedulable.remove(pod);
        break;
      case 'gated':
        this.#gated.remove(pod);
        break;
      case 'out':
        break;
    }
    pod.place = place;
    if (place !== 'out')
      this.#metrics?.podQueued(place === 'errorBackoff' ? 'backoff' : place, event);
    switch (place) {
      case 'active':
        this.#active.put(pod);
        this.#wake?.();
        break;
      case 'backoff':
        this.#backoffQ.put(pod);
        if (this.#popFromBackoff) this.#wake?.();
        this.#armTimer();
        break;
      case 'errorBackoff':
        this.#errorBackoffQ.put(pod);
        this.#armTimer();
        break;
      case 'unschedulable':
        this.#unschedulable.add(pod);
        break;
      case 'gated':
        this.#gated.add(pod);
        break;
      case 'out':
        this.#pods.delete(uid);
        break;
    }
  }

  #untilWoken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  /** Sets the timer for the back-off that ends first. */
  #armTimer(): void {
    const due = Math.min(
      this.#backoffQ.peek()?.backoffUntilMs ?? Infinity,
      this.#errorBackoffQ.peek()?.backoffUntilMs ?? Infinity,
    );
    if (due >= this.#timerDue) return;
    this.#timer?.cancel();
    this.#timerDue = due;
    this.#timer = this.#clock.setTimer(Math.ceil(due - this.#clock.monotonic()), () => {
      this.#timerDue = Number.POSITIVE_INFINITY;
      this.#flushBackoff();
      this.#armTimer();
    });
  }

  #flushBackoff(): void {
    const now = this.#clock.monotonic();
    for (const queue of [this.#backoffQ, this.#errorBackoffQ]) {
      for (
        let pod = queue.peek();
        pod !== undefined && pod.backoffUntilMs <= now;
        pod = queue.peek()
      ) {
        this.#moveToActive(pod, 'BackoffComplete');
      }
    }
  }

  #flushUnschedulable(): void {
    const tooLong = this.#clock.monotonic() - this.#maxUnschedulableMs;
    const pods = [...this.#unschedulable.values()].filter((pod) => pod.timestampMs < tooLong);
    for (const pod of pods) {
      pod.wasFlushed = true;
      this.#requeue(
        pod,
        this.#hints.worthRequeuing(pod, unschedulableTimeout, {}),
        unschedulableTimeout.label,
      );
    }
  }
}

function wasBroken(pod: QueuedPod): boolean {
  return pod.unschedulablePlugins.size === 0 && pod.pendingPlugins.size === 0;
}

function backoffHeap(): KeyedHeap<string, QueuedPod> {
  return new KeyedHeap({
    keyOf: (pod) => pod.info.uid,
    less: (a, b) => a.backoffUntilMs < b.backoffUntilMs,
  });
}
