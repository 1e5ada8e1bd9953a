// The metrics of the scheduler, with the names and buckets of kube-scheduler.

import type { Clock } from '#machinery/clock.ts';
import type { FrameworkMetrics, PluginMetrics } from '../framework/metrics.ts';
import type { Code } from '../framework/status.ts';
import {
  Counter,
  counterText,
  type Description,
  exponentialBuckets,
  Family,
  gaugeText,
  Histogram,
  histogramText,
  Instruments,
  type Sample,
} from '#machinery/metrics/instruments.ts';

/** The outcome of a scheduling attempt. */
export type Result = 'scheduled' | 'unschedulable' | 'error';

/** Values that are read when the metrics are collected. */
export interface Gauges {
  /** By the queue's name. */
  readonly pendingPods: Readonly<Record<string, number>>;
  readonly cacheSize: Readonly<Record<'nodes' | 'pods' | 'assumed_pods', number>>;
  readonly bindings: number;
  /** By event. */
  readonly inFlightEvents: Readonly<Record<string, number>>;
  /** Waiting pods by the plugin that rejected them. */
  readonly unschedulable: Iterable<{
    readonly plugin: string;
    readonly profile: string;
    readonly count: number;
  }>;
}

/** In one of this number of cycles, plugins are timed individually. */
const SAMPLED = 10;
/** More attempts than this are counted together. */
const MANY_ATTEMPTS = 15;

const counters = (name: string, help: string, ...labels: readonly string[]): Family<Counter> =>
  new Family({ name: `scheduler_${name}`, help, labels }, () => new Counter());
const histograms = (
  name: string,
  help: string,
  buckets: readonly number[],
  ...labels: readonly string[]
): Family<Histogram> =>
  new Family({ name: `scheduler_${name}`, help, labels }, () => new Histogram(buckets));

const CYCLE_BUCKETS = exponentialBuckets(0.001, 2, 15);
const POINT_BUCKETS = exponentialBuckets(0.0001, 2, 12);

export class SchedulerMetrics implements FrameworkMetrics, PluginMetrics {
  /** The metrics of single plugins. */
  readonly instruments = new Instruments();
  readonly #clock: Clock;
  readonly #attempts = counters(
    'schedule_attempts_total',
    'Attempts to schedule pods, by how they ended.',
    'result',
    'profile',
  );
  readonly #attemptDuration = histograms(
    'scheduling_attempt_duration_seconds',
    'How long attempts took, from taking up the pod until it was bound or refused.',
    CYCLE_BUCKETS,
    'result',
    'profile',
  );
  readonly #algorithm = histograms(
    'scheduling_algorithm_duration_seconds',
    'How long it took to choose a node.',
    CYCLE_BUCKETS,
  );
  readonly #points = histograms(
    'framework_extension_point_duration_seconds',
    'How long all plugins of an extension point took together.',
    POINT_BUCKETS,
    'extension_point',
    'status',
    'profile',
  );
  readonly #plugins = histograms(
    'plugin_execution_duration_seconds',
    'How long a plugin took at an extension point, in some of the cycles.',
    exponentialBuckets(0.00001, 1.5, 20),
    'plugin',
    'extension_point',
    'status',
  );
  readonly #evaluations = counters(
    'plugin_evaluation_total',
    'How often plugins were asked: about a pod (PreFilter, PreScore), or about a node for it (Filter, Score).',
    'plugin',
    'extension_point',
    'profile',
  );
  readonly #incoming = counters(
    'queue_incoming_pods_total',
    'Pods that came into a queue, by why.',
    'queue',
    'event',
  );
  readonly #podAttempts = histograms(
    'pod_scheduling_attempts',
    'How many attempts it took to schedule a pod.',
    exponentialBuckets(1, 2, 5),
  );
  readonly #sli = histograms(
    'pod_scheduling_sli_duration_seconds',
    'How long it took to schedule a pod, from when it could first be tried.',
    exponentialBuckets(0.01, 2, 20),
    'attempts',
  );
  readonly #flushed = counters(
    'pod_scheduled_after_flush_total',
    'Pods that were scheduled after they had left the unschedulable pods by a timeout, without an event.',
  );
  readonly #hints = histograms(
    'queueing_hint_execution_duration_seconds',
    'How long a plugin took to say whether an event helps a pod.',
    exponentialBuckets(0.00001, 1.5, 20),
    'plugin',
    'event',
    'hint',
  );
  readonly #victims = histograms(
    'preemption_victims',
    'How many pods had to go for another one.',
    exponentialBuckets(1, 2, 7),
  );
  readonly #preemptions = counters('preemption_attempts_total', 'Attempts to make room for a pod.');
  readonly #evictions = counters(
    'preemption_goroutines_execution_total',
    'Times that room was made for a pod.',
    'result',
  );
  readonly #evictionDuration = histograms(
    'preemption_goroutines_duration_seconds',
    'How long it took to make room for a pod, beside the scheduling cycles.',
    exponentialBuckets(0.01, 2, 20),
    'result',
  );
  readonly #permitWait = histograms(
    'permit_wait_duration_seconds',
    'How long pods waited to be permitted.',
    CYCLE_BUCKETS,
    'result',
  );
  readonly #events = histograms(
    'event_handling_duration_seconds',
    'How long the scheduler took to take in a change of the cluster.',
    POINT_BUCKETS,
    'event',
  );
  #gauges: (() => Gauges) | undefined;
  #cycles = 0;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
    // Created at the start, so that rates can be computed.
    this.#preemptions.with();
    this.#victims.with();
    this.#flushed.with();
  }

  /** Returns milliseconds, for use as `start`. */
  now(): number {
    return this.#clock.monotonic();
  }

  #since(start: number): number {
    return (this.#clock.monotonic() - start) / 1000;
  }

  /** Reports whether plugins are timed individually in the cycle that begins now. */
  samplesCycle(): boolean {
    return this.#cycles++ % SAMPLED === 0;
  }

  attemptEnded(result: Result, profile: string, start: number): void {
    this.#attempts.with(result, profile).value++;
    this.#attemptDuration.with(result, profile).observe(this.#since(start));
  }

  nodeChosen(start: number): void {
    this.#algorithm.with().observe(this.#since(start));
  }

  /**
   * Records a scheduled pod. `firstAttempt`: when the pod first became active. `wasFlushed`: no
   * event led to its last attempt.
   */
  podScheduled(attempts: number, firstAttempt: number | undefined, wasFlushed: boolean): void {
    if (wasFlushed) this.#flushed.with().value++;
    this.#podAttempts.with().observe(attempts);
    const label = attempts >= MANY_ATTEMPTS ? `${MANY_ATTEMPTS}+` : String(attempts);
    if (firstAttempt !== undefined) this.#sli.with(label).observe(this.#since(firstAttempt));
  }

  pointRan(point: string, status: Code, profile: string, start: number): void {
    this.#points.with(point, status, profile).observe(this.#since(start));
  }

  /** Returns the counter of calls of a plugin. Remembered results count, too. */
  evaluations(
    plugin: string,
    point: 'PreFilter' | 'Filter' | 'PreScore' | 'Score',
    profile: string,
  ): Counter {
    return this.#evaluations.with(plugin, point, profile);
  }

  pluginRan(plugin: string, point: string, status: Code, start: number): void {
    this.#plugins.with(plugin, point, status).observe(this.#since(start));
  }

  hintAnswered(
    plugin: string,
    event: string,
    hint: 'Queue' | 'QueueSkip' | 'Error',
    start: number,
  ): void {
    this.#hints.with(plugin, event, hint).observe(this.#since(start));
  }

  podQueued(queue: string, event: string): void {
    this.#incoming.with(queue, event).value++;
  }

  /**
   * Records a preemption attempt. `victims`: their number; undefined if preemption would not help.
   */
  preempted(victims: number | undefined): void {
    this.#preemptions.with().value++;
    if (victims !== undefined) this.#victims.with().observe(victims);
  }

  evictionEnded(result: 'success' | 'error', start: number): void {
    this.#evictions.with(result).value++;
    this.#evictionDuration.with(result).observe(this.#since(start));
  }

  permitWaited(result: Code, start: number): void {
    this.#permitWait.with(result).observe(this.#since(start));
  }

  eventHandled(event: string, start: number): void {
    this.#events.with(event).observe(this.#since(start));
  }

  /** Sets the source of the gauges; undefined while no session runs. */
  watch(gauges: (() => Gauges) | undefined): void {
    this.#gauges = gauges;
  }

  /** Returns all metrics in Prometheus' text format. */
  text(): string {
    const gauges = this.#gauges?.();
    return [
      ...[
        this.#attempts,
        this.#evaluations,
        this.#incoming,
        this.#flushed,
        this.#preemptions,
        this.#evictions,
      ].map(counterText),
      ...[
        this.#attemptDuration,
        this.#algorithm,
        this.#points,
        this.#plugins,
        this.#podAttempts,
        this.#sli,
        this.#hints,
        this.#victims,
        this.#evictionDuration,
        this.#permitWait,
        this.#events,
      ].map(histogramText),
      ...(gauges === undefined ? [] : gaugeTexts(gauges)),
      this.instruments.text(),
    ].join('');
  }
}

function gaugeTexts({
  pendingPods,
  cacheSize,
  bindings,
  inFlightEvents,
  unschedulable,
}: Gauges): readonly string[] {
  const gauge = (
    name: string,
    help: string,
    label: string | readonly string[],
    samples: readonly Sample[],
  ): string => {
    const description: Description = {
      name: `scheduler_${name}`,
      help,
      labels: typeof label === 'string' ? [label] : label,
    };
    return gaugeText(description, samples);
  };
  const byName = (record: Readonly<Record<string, number>>): readonly Sample[] =>
    Object.entries(record).map(([name, value]) => [[name], value]);
  return [
    gauge(
      'pending_pods',
      'Pods that wait to be scheduled, by the queue that they are in.',
      'queue',
      byName(pendingPods),
    ),
    gauge(
      'cache_size',
      'Nodes and pods that the scheduler keeps in mind.',
      'type',
      byName(cacheSize),
    ),
    gauge('goroutines', 'What goes on beside the scheduling cycles.', 'operation', [
      [['binding'], bindings],
    ]),
    gauge(
      'inflight_events',
      'Changes that are kept for the pods that are being tried.',
      'event',
      byName(inFlightEvents),
    ),
    gauge(
      'unschedulable_pods',
      'Pods that wait, by the plugin that refused them.',
      ['plugin', 'profile'],
      Array.from(unschedulable, ({ plugin, profile, count }): Sample => [[plugin, profile], count]),
    ),
  ];
}
