// Metrics of a controller manager, with upstream's names, in Prometheus' format.

import { type Durations, QUEUE_BUCKETS_SECONDS, QueueMetrics } from '#client/workqueue/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { boundText, Instruments } from '#machinery/metrics/instruments.ts';

export class ControllerManagerMetrics {
  /** Metrics of single controllers. */
  readonly instruments = new Instruments();
  readonly #clock: Clock;
  readonly #queues = new Map<string, QueueMetrics>();
  readonly #running = new Set<string>();

  constructor(config: { readonly clock: Clock }) {
    this.#clock = config.clock;
  }

  /** Returns metrics for a new queue, starting from zero. */
  queue<K>(name: string): QueueMetrics<K> {
    const metrics = new QueueMetrics<K>(this.#clock);
    this.#queues.set(name, metrics);
    return metrics;
  }

  /** The names of the controllers that run now. */
  get running(): readonly string[] {
    return [...this.#running].sort();
  }

  started(controller: string): void {
    this.#running.add(controller);
  }

  stopped(controller: string): void {
    this.#running.delete(controller);
  }

  text(): string {
    const queues = [...this.#queues].sort(([a], [b]) => (a < b ? -1 : 1));
    const each = (value: (queue: QueueMetrics) => number): string[] =>
      queues.map(([name, queue]) => `{name="${name}"} ${value(queue)}`);
    return [
      family(
        'workqueue_adds_total',
        'counter',
        'Keys added to the queue.',
        each(({ adds }) => adds),
      ),
      family(
        'workqueue_depth',
        'gauge',
        'Keys that wait.',
        each(({ depth }) => depth),
      ),
      family(
        'workqueue_retries_total',
        'counter',
        'Keys added for a later time.',
        each(({ retries }) => retries),
      ),
      family(
        'workqueue_unfinished_work_seconds',
        'gauge',
        'For how long the keys under work have been so, together.',
        each(({ unfinishedSeconds }) => unfinishedSeconds),
      ),
      family(
        'workqueue_longest_running_processor_seconds',
        'gauge',
        'For how long the oldest key under work has been so.',
        each(({ longestRunningSeconds }) => longestRunningSeconds),
      ),
      family(
        'workqueue_queue_duration_seconds',
        'histogram',
        'How long keys waited.',
        queues.flatMap(([name, { waited }]) => histogram(name, waited)),
      ),
      family(
        'workqueue_work_duration_seconds',
        'histogram',
        'How long work on a key took.',
        queues.flatMap(([name, { worked }]) => histogram(name, worked)),
      ),
      family(
        'running_managed_controllers',
        'gauge',
        'Which controllers run.',
        [...this.#running]
          .sort()
          .map((name) => `{manager="kube-controller-manager",name="${name}"} 1`),
      ),
      this.instruments.text(),
    ].join('');
  }
}

/**
 * Formats a metric family. `samples`: the text after the name; for histograms, the suffix of the
 * name stands before a blank.
 */
function family(
  name: string,
  type: 'counter' | 'gauge' | 'histogram',
  help: string,
  samples: readonly string[],
): string {
  if (samples.length === 0) return '';
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.map((sample) => `${name}${sample}\n`).join('')}`;
}

function histogram(name: string, { counts, count, sum }: Durations): string[] {
  let below = 0;
  const buckets = QUEUE_BUCKETS_SECONDS.map((bound, index) => {
    below += counts[index]!;
    return `_bucket{name="${name}",le="${boundText(bound)}"} ${below}`;
  });
  return [
    ...buckets,
    `_bucket{name="${name}",le="+Inf"} ${count}`,
    `_sum{name="${name}"} ${sum}`,
    `_count{name="${name}"} ${count}`,
  ];
}
