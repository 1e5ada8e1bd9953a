// A work queue to which a key can be added later.

import type { Clock, Timer } from '#machinery/clock.ts';
import { KeyedHeap } from '#machinery/collections/heap.ts';
import type { QueueMetrics } from './metrics.ts';
import { WorkQueue } from './work-queue.ts';
import type { WorkQueueConfig } from './work-queue.ts';

export interface DelayingQueueConfig<K = string> extends WorkQueueConfig<K> {
  readonly clock: Clock;
}

interface Waiting<K> {
  readonly key: K;
  /** On the clock's monotonic scale. */
  readonly readyAt: number;
}

/** Not guaranteed: that a key with a pending delay is not added earlier by another caller. Then it is processed twice. */
export class DelayingQueue<K = string> extends WorkQueue<K> {
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics<K> | undefined;
  /** Each key once, with the earliest time that was asked for. */
  readonly #waiting = new KeyedHeap<K, Waiting<K>>({
    keyOf: (entry) => entry.key,
    less: (a, b) => a.readyAt < b.readyAt,
  });
  /** Set for the first of #waiting; undefined exactly when nothing waits. */
  #timer: { readonly at: number; readonly timer: Timer } | undefined;

  constructor(config: DelayingQueueConfig<K>) {
    super(config);
    this.#clock = config.clock;
    this.#metrics = config.metrics;
  }

  /** Adds the key after `delayMs` (0 or less: now). Asked for twice, the earlier time counts. */
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

  /** Also forgets the keys whose time has not come. */
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
    // Everything due by the time that the timer was set for counts, even if the platform's timer was a fraction early.
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
