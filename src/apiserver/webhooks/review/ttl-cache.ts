// A cache of answers, each with a time to live.

import type { Clock } from '#machinery/clock.ts';
import { LruCache } from '#machinery/collections/lru.ts';

interface Cached<T> {
  readonly value: T;
  /** The expiry in monotonic ms. */
  readonly until: number;
}

export class TtlCache<T> {
  readonly #clock: Clock;
  readonly #entries: LruCache<string, Cached<T>>;

  /** `capacity`: the least recently used answer is evicted beyond it. */
  constructor(clock: Clock, capacity: number) {
    this.#clock = clock;
    this.#entries = new LruCache({ capacity });
  }

  get(key: string): T | undefined {
    const cached = this.#entries.get(key);
    return cached !== undefined && cached.until > this.#clock.monotonic()
      ? cached.value
      : undefined;
  }

  /** `ttlMs`: 0 or less keeps nothing. */
  set(key: string, value: T, ttlMs: number): void {
    if (ttlMs > 0) this.#entries.set(key, { value, until: this.#clock.monotonic() + ttlMs });
  }
}
