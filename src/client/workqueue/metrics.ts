// Counts the work of a queue in plain numbers: a queue works far more often than its metrics are
// read. The publisher of the metrics adds the name of the queue and the format.

import type { Clock } from '#machinery/clock.ts';
import { TransientMap } from '#machinery/collections/transient-map.ts';

/**
 * Upper bounds in seconds, as in upstream's components: each ten times the one before, from ten
 * nanoseconds to ten seconds.
 */
export const QUEUE_BUCKETS_SECONDS = tenfold(1e-8, 10);

/** Multiplied step by step: the inexact products are part of the names of upstream's series. */
function tenfold(first: number, count: number): readonly number[] {
  const bounds = [first];
  while (bounds.length < count) bounds.push(bounds.at(-1)! * 10);
  return bounds;
}

/** The number of observations for each bound, their total and their sum in seconds. */
export class Durations {
  /**
   * The number of durations in each bucket, not cumulative. The last bucket contains durations
   * above the last bound.
   */
  readonly counts: number[] = Array.from({ length: QUEUE_BUCKETS_SECONDS.length + 1 }, () => 0);
  count = 0;
  sum = 0;

  observe(seconds: number): void {
    this.count++;
    this.sum += seconds;
    let bucket = 0;
    while (bucket < QUEUE_BUCKETS_SECONDS.length && seconds > QUEUE_BUCKETS_SECONDS[bucket]!)
      bucket++;
    this.counts[bucket] = this.counts[bucket]! + 1;
  }
}

export class QueueMetrics<K = unknown> {
  readonly #clock: Clock;
  /** The time at which each waiting key was added, on the clock's monotonic scale. */
  readonly #added = new TransientMap<K, number>();
  /** The time at which work on each key began. */
  readonly #begun = new TransientMap<K, number>();
  adds = 0;
  retries = 0;
  /** The durations between add and get. */
  readonly waited = new Durations();
  /** The durations between get and done. */
  readonly worked = new Durations();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of waiting keys, including those that were added again while a worker has them. */
  get depth(): number {
    return this.#added.size;
  }

  /** The seconds that work on current keys has taken so far, in total. */
  get unfinishedSeconds(): number {
    return this.#running().reduce((sum, seconds) => sum + seconds, 0);
  }

  /** The seconds of the longest running key. */
  get longestRunningSeconds(): number {
    return Math.max(0, ...this.#running());
  }

  /** Records an added key that was not waiting yet. */
  add(key: K): void {
    this.adds++;
    this.#added.set(key, this.#clock.monotonic());
  }

  take(key: K): void {
    const now = this.#clock.monotonic();
    this.waited.observe((now - (this.#added.get(key) ?? now)) / 1000);
    this.#added.delete(key);
    this.#begun.set(key, now);
  }

  done(key: K): void {
    const begun = this.#begun.get(key);
    if (begun === undefined) return;
    this.#begun.delete(key);
    this.worked.observe((this.#clock.monotonic() - begun) / 1000);
  }

  #running(): number[] {
    const now = this.#clock.monotonic();
    return Array.from(this.#begun.values(), (begun) => (now - begun) / 1000);
  }
}
