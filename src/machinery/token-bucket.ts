// Limits the rate of calls.

import type { Clock } from './clock.ts';

/** A bucket of tokens that fills at `perSecond` up to `burst` and starts full. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #perMs: number;
  readonly #burst: number;
  /** The tokens at the time #at; negative when future tokens are reserved. */
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

  /** Takes a token if there is one. Returns whether it did. */
  tryTake(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes a token, if necessary a future one. Returns the milliseconds until it is available. */
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
