// Keys that expire: a heap of their deadlines, and a timer for the next one.

import type { Clock, Timer } from '#machinery/clock.ts';
import { KeyedHeap } from '#machinery/collections/heap.ts';
import type { Revision } from '../interface.ts';

export interface Expiration {
  readonly key: string;
  /** The version that expires. A later version has its own expiration, or none. */
  readonly modRevision: Revision;
  /**
   * The deadline in wall-clock milliseconds since the epoch, so that it is valid after a restart.
   */
  readonly deadline: number;
}

export interface ExpiryConfig {
  readonly clock: Clock;
  /** Called with the expirations that are due. They are removed before the call. */
  readonly onExpired: (due: readonly Expiration[]) => void;
}

/**
 * The maximum length of a timer in ms, so that a jump of the wall clock is noticed within this
 * time.
 */
const MAX_TIMER_MS = 60 * 60 * 1000;

export class Expiry {
  readonly #config: ExpiryConfig;
  readonly #heap = new KeyedHeap<string, Expiration>({
    keyOf: (item) => item.key,
    less: (a, b) => a.deadline < b.deadline,
  });
  /**
   * The timer; set exactly when the heap has an item and expiry is started. It fires at #wakeAt,
   * which is not after any deadline.
   */
  #timer: Timer | undefined;
  #wakeAt = 0;
  #started = false;

  constructor(config: ExpiryConfig) {
    this.#config = config;
  }

  /** Starts calling `onExpired`. Expirations that are set before only wait. */
  start(): void {
    this.#started = true;
    this.#arm();
  }

  /** Stops calling `onExpired`, for good. */
  stop(): void {
    this.#started = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#heap.clear();
  }

  /** Sets the key's expiration, and replaces an earlier one. */
  set(expiration: Expiration): void {
    this.#heap.put(expiration);
    this.#arm();
  }

  /** Returns the key's expiration; undefined if it never expires. */
  get(key: string): Expiration | undefined {
    return this.#heap.get(key);
  }

  /** Removes the key's expiration. */
  clear(key: string): void {
    if (this.#heap.size > 0) this.#heap.delete(key);
  }

  #arm(): void {
    const next = this.#heap.peek();
    if (
      !this.#started ||
      next === undefined ||
      (this.#timer !== undefined && this.#wakeAt <= next.deadline)
    )
      return;
    this.#timer?.cancel();
    const now = this.#config.clock.now();
    const delayMs = Math.min(Math.max(next.deadline - now, 0), MAX_TIMER_MS);
    this.#wakeAt = now + delayMs;
    this.#timer = this.#config.clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      this.#fire();
    });
  }

  #fire(): void {
    const now = this.#config.clock.now();
    const due: Expiration[] = [];
    for (
      let next = this.#heap.peek();
      next !== undefined && next.deadline <= now;
      next = this.#heap.peek()
    ) {
      this.#heap.pop();
      due.push(next);
    }
    if (due.length > 0) this.#config.onExpired(due);
    this.#arm();
  }
}
