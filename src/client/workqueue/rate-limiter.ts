// How long a failed key waits before it is tried again.

import type { Clock } from '#machinery/clock.ts';
import { TransientMap } from '#machinery/collections/transient-map.ts';

export interface RateLimiter<K> {
  /** Counts one failure of the key. Returns how long it must wait, in milliseconds. */
  when(key: K): number;
  /** The key succeeded (or was given up): its next failure is its first. */
  forget(key: K): void;
  /** How often the key has failed since it was last forgotten. */
  retries(key: K): number;
}

/** Each key by itself: `baseMs`, doubled at every further failure, at most `maxMs`. Defaults: 5 ms, 1000 s. */
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

/** A bucket of tokens that fills at `perSecond` up to `burst` and starts full. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #perMs: number;
  readonly #burst: number;
  /** As of #at; negative when tokens have been reserved that are not there yet. */
  #tokens: number;
  #at: number;

  constructor(config: {
    readonly clock: Clock;
    readonly perSecond: number;
    readonly burst: number;
  }) {
    this.#clock = config.clock;
    this.#perMs = config.perSecond / 1000;
    this.#burst = config.burst;
    this.#tokens = config.burst;
    this.#at = config.clock.monotonic();
  }

  /** Takes a token if there is one. */
  tryTake(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes a token, from the future if need be; answers how many milliseconds away it is. */
  reserve(): number {
    this.#refill();
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs;
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs);
    this.#at = now;
  }
}

/** All keys together: no more than a bucket of tokens allows. */
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

/** The longest wait that any of several asks for. */
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

/** Returns the limiter of controllers: 5 ms, doubled per failure up to 1000 s, and 10 retries a second (bursts of 100) over all keys. */
export function defaultControllerRateLimiter<K>(clock: Clock): RateLimiter<K> {
  return new MaxOfRateLimiters<K>([
    new ExponentialRateLimiter<K>(),
    new BucketRateLimiter<K>(new TokenBucket({ clock, perSecond: 10, burst: 100 })),
  ]);
}
