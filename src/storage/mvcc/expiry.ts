// Keys that go by themselves: which one is next, and a timer for it.

import type { Clock, Timer } from '#machinery/clock.ts';
import { KeyedHeap } from '#machinery/collections/heap.ts';
import type { Revision } from '../interface.ts';

export interface Expiration {
  readonly key: string;
  /** The version that expires; a later one has its own expiration, or none. */
  readonly modRevision: Revision;
  /** Wall-clock milliseconds since the epoch, so that it means the same after a restart. */
  readonly deadline: number;
}

export interface ExpiryConfig {
  readonly clock: Clock;
  /** Called with what is due; each is forgotten before the call. */
  readonly onExpired: (due: readonly Expiration[]) => void;
}

/** No timer is longer, so that a jump of the wall clock is noticed within this time. */
const MAX_TIMER_MS = 60 * 60 * 1000;

export class Expiry {
  readonly #config: ExpiryConfig;
  readonly #heap = new KeyedHeap<string, Expiration>({
    keyOf: (item) => item.key,
    less: (a, b) => a.deadline < b.deadline,
  });
  /** Set exactly when the heap has an item and the expiry is started; due at #wakeAt, which no deadline is before. */
  #timer: Timer | undefined;
  #wakeAt = 0;
  #started = false;

  constructor(config: ExpiryConfig) {
    this.#config = config;
  }

  /** Begins to call back; what is set before only waits. */
  start(): void {
    this.#started = true;
    this.#arm();
  }

  /** Never calls back again. */
  stop(): void {
    this.#started = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#heap.clear();
  }

  /** The key's one expiration from now on. */
  set(expiration: Expiration): void {
    this.#heap.put(expiration);
    this.#arm();
  }

  /** When the key expires; undefined: never. */
  get(key: string): Expiration | undefined {
    return this.#heap.get(key);
  }

  /** The key does not expire any more. */
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
