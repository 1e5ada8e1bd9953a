// The delay before a failed key is tried again.

import type { Clock } from '#machinery/clock.ts';
import { TokenBucket } from '#machinery/token-bucket.ts';
import { TransientMap } from '#machinery/collections/transient-map.ts';

export interface RateLimiter<K> {
  /** Counts a failure of the key. Returns its delay in milliseconds. */
  when(key: K): number;
  /** Resets the key, which succeeded or was dropped: its next failure is its first. */
  forget(key: K): void;
  /** Returns the number of failures since the key was last forgotten. */
  retries(key: K): number;
}

/**
 * Delays each key separately: `baseMs`, doubled at every further failure, at most `maxMs`.
 * Defaults: 5 ms, 1000 s.
 */
export class ExponentialRateLimiter<K> implements RateLimiter<K> {
  readonly #baseMs: number;
  readonly #maxMs: number;
  readonly #failures = new TransientMap<K, number>();

  constructor(config: { readonly baseMs?: number; readonly maxMs?: number } = {}) {
    this.#baseMs = config.baseMs ?? 5;
    this.#maxMs = config.maxMs ?? 1_000_000;
  }

  when(key: K): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(this.#baseMs * 2 ** failures, this.#maxMs);
  }

  forget(key: K): void {
    this.#failures.delete(key);
  }

  retries(key: K): number {
    return this.#failures.get(key) ?? 0;
  }
}

/** Delays all keys together as a bucket of tokens requires. */
export class BucketRateLimiter<K> implements RateLimiter<K> {
  readonly #bucket: TokenBucket;

  constructor(bucket: TokenBucket) {
    this.#bucket = bucket;
  }

  when(): number {
    return this.#bucket.reserve();
  }

  forget(): void {}

  retries(_key: K): number {
    return 0;
  }
}

/** Delays by the longest delay of several limiters. */
export class MaxOfRateLimiters<K> implements RateLimiter<K> {
  readonly #limiters: readonly RateLimiter<K>[];

  constructor(limiters: readonly RateLimiter<K>[]) {
    this.#limiters = limiters;
  }

  when(key: K): number {
    return this.#limiters.reduce((longest, limiter) => Math.max(longest, limiter.when(key)), 0);
  }

  forget(key: K): void {
    for (const limiter of this.#limiters) limiter.forget(key);
  }

  retries(key: K): number {
    return this.#limiters.reduce((most, limiter) => Math.max(most, limiter.retries(key)), 0);
  }
}

/**
 * Returns the limiter of controllers: 5 ms, doubled per failure up to 1000 s, and 10 retries a
 * second (bursts of 100) over all keys.
 */
export function defaultControllerRateLimiter<K>(clock: Clock): RateLimiter<K> {
  return new MaxOfRateLimiters<K>([
    new ExponentialRateLimiter<K>(),
    new BucketRateLimiter<K>(new TokenBucket({ clock, perSecond: 10, burst: 100 })),
  ]);
}
