// A work queue with delays.

import type { Clock, Timer } from '#machinery/clock.ts';
import { KeyedHeap } from '#machinery/collections/heap.ts';
import type { QueueMetrics } from './metrics.ts';
import { WorkQueue, type WorkQueueConfig } from './work-queue.ts';

export interface DelayingQueueConfig<K = string> extends WorkQueueConfig<K> {
  readonly clock: Clock;
}

interface Waiting<K> {
  readonly key: K;
  /** The time at which the key is added, on the clock's monotonic scale. */
  readonly readyAt: number;
}

/**
 * A work queue to which keys can be added later. Not guaranteed: that a key with a pending delay is
 * not added earlier by another caller. It is processed twice then.
 */
export class DelayingQueue<K = string> extends WorkQueue<K> {
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics<K> | undefined;
  /** Each key once, with its earliest requested time. */
  readonly #waiting = new KeyedHeap<K, Waiting<K>>({
    keyOf: (entry) => entry.key,
    less: (a, b) => a.readyAt < b.readyAt,
  });
  /** The timer for the first of #waiting; undefined if and only if no key is waiting. */
  #timer: { readonly at: number; readonly timer: Timer } | undefined;

  constructor(config: DelayingQueueConfig<K>) {
    super(config);
    this.#clock = config.clock;
    this.#metrics = config.metrics;
  }

  /** Adds the key after `delayMs` (0 or less: now). Of several calls the earliest time counts. */
  addAfter(key: K, delayMs: number): void {
    if (this.shuttingDown) return;
    if (this.#metrics !== undefined) this.#metrics.retries++;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const readyAt = this.#clock.monotonic() + delayMs;
    const present = this.#waiting.get(key);
    if (present !== undefined && present.readyAt <= readyAt) return;
    this.#waiting.put({ key, readyAt });
    this.#arm();
  }

  /** Shuts down, and drops the keys with a pending delay. */
  override shutDown(): void {
    this.#timer?.timer.cancel();
    this.#timer = undefined;
    while (this.#waiting.pop() !== undefined);
    super.shutDown();
  }

  #arm(): void {
    const next = this.#waiting.peek();
    if (next?.readyAt === this.#timer?.at) return;
    this.#timer?.timer.cancel();
    this.#timer = undefined;
    if (next === undefined) return;
    const timer = this.#clock.setTimer(next.readyAt - this.#clock.monotonic(), () =>
      this.#release(),
    );
    this.#timer = { at: next.readyAt, timer };
  }

  #release(): void {
    this.#timer = undefined;
    // Counts keys as due up to 1 ms early: the platform's timer may fire a fraction too early.
    const now = this.#clock.monotonic() + 1;
    for (
      let next = this.#waiting.peek();
      next !== undefined && next.readyAt <= now;
      next = this.#waiting.peek()
    ) {
      this.#waiting.pop();
      this.add(next.key);
    }
    this.#arm();
  }
}
