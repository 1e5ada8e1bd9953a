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

/**
 * The expirations of a store at one moment. Nothing but an Expiry that is made from it can read it.
 */
export interface SharedExpirations {
  readonly heap: KeyedHeap<string, Expiration>;
}

export interface ExpiryConfig {
  readonly clock: Clock;
  /** The expirations to begin with. */
  readonly expirations?: SharedExpirations;
  /** Called with the due expirations, which are removed before the call. */
  readonly onExpired: (due: readonly Expiration[]) => void;
}

/**
 * The maximum length of a timer in ms, so that a jump of the wall clock is noticed within this
 * time.
 */
const MAX_TIMER_MS = 60 * 60 * 1000;

/** Returns the expirations of a store without any. */
export function noExpirations(): SharedExpirations {
  return {
    heap: new KeyedHeap({
      keyOf: (item) => item.key,
      less: (a, b) => a.deadline < b.deadline,
    }),
  };
}

export class Expiry {
  readonly #config: ExpiryConfig;
  #heap: KeyedHeap<string, Expiration>;
  /** Another Expiry has the heap, too: it is copied before it is changed. */
  #shared: boolean;
  /**
   * Set exactly when the heap has an item and the expiry is started; due at #wakeAt, which no
   * deadline is before.
   */
  #timer: Timer | undefined;
  #wakeAt = 0;
  #started = false;

  constructor(config: ExpiryConfig) {
    this.#config = config;
    this.#shared = config.expirations !== undefined;
    this.#heap = (config.expirations ?? noExpirations()).heap;
  }

  /**
   * Returns what expires, for an Expiry of another store. O(1): a copy is made when one of them is
   * changed.
   */
  share(): SharedExpirations {
    this.#shared = true;
    return { heap: this.#heap };
  }

  /** Returns the heap, or a copy of it, which may be changed. */
  #own(): KeyedHeap<string, Expiration> {
    if (this.#shared) {
      this.#heap = this.#heap.clone();
      this.#shared = false;
    }
    return this.#heap;
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
    if (!this.#shared) this.#heap.clear();
  }

  /** Sets the key's expiration, and replaces an earlier one. */
  set(expiration: Expiration): void {
    this.#own().put(expiration);
    this.#arm();
  }

  /** Returns the key's expiration; undefined if it never expires. */
  get(key: string): Expiration | undefined {
    return this.#heap.get(key);
  }

  /** Removes the key's expiration. */
  clear(key: string): void {
    if (this.#heap.size > 0 && this.#heap.has(key)) this.#own().delete(key);
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
      this.#own().pop();
      due.push(next);
    }
    if (due.length > 0) this.#config.onExpired(due);
    this.#arm();
  }
}
