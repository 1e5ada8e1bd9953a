// A work queue with back-off: failed keys wait, longer each time.

import { DelayingQueue, type DelayingQueueConfig } from './delaying-queue.ts';
import { defaultControllerRateLimiter, type RateLimiter } from './rate-limiter.ts';

export interface RateLimitingQueueConfig<K> extends DelayingQueueConfig<K> {
  /** Default: `defaultControllerRateLimiter`. */
  readonly rateLimiter?: RateLimiter<K>;
}

export class RateLimitingQueue<K = string> extends DelayingQueue<K> {
  readonly #rateLimiter: RateLimiter<K>;

  constructor(config: RateLimitingQueueConfig<K>) {
    super(config);
    this.#rateLimiter = config.rateLimiter ?? defaultControllerRateLimiter<K>(config.clock);
  }

  /** Adds the key after the rate limiter's delay. Every call counts as a failure until `forget`. */
  addRateLimited(key: K): void {
    this.addAfter(key, this.#rateLimiter.when(key));
  }

  /** Resets the key's failures. It does not remove the key from the queue. */
  forget(key: K): void {
    this.#rateLimiter.forget(key);
  }

  numRequeues(key: K): number {
    return this.#rateLimiter.retries(key);
  }
}
