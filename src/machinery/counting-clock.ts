// A clock that knows how many of its timers are pending. Polls and pauses (see `setPoll` of the
// clock) are not counted: without a change they have no effect.

import type { Clock, Timer } from './clock.ts';

export class CountingClock implements Clock {
  readonly #clock: Clock;
  readonly polls?: NonNullable<Clock['polls']>;
  readonly atRest?: NonNullable<Clock['atRest']>;
  #pending = 0;
  readonly setInterval: Clock['setInterval'] = (intervalMs, callback) => {
    const ended = this.#begin();
    const timer = this.#clock.setInterval(intervalMs, callback);
    return {
      cancel: () => {
        ended();
        timer.cancel();
      },
    };
  };

  constructor(clock: Clock) {
    this.#clock = clock;
    if (clock.polls !== undefined) this.polls = clock.polls;
    if (clock.atRest !== undefined) this.atRest = clock.atRest;
  }

  /** The number of timers, intervals and sleeps of this clock that have not ended. */
  get pending(): number {
    return this.#pending;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const ended = this.#begin();
    const timer = this.#clock.setTimer(delayMs, () => {
      ended();
      callback();
    });
    return {
      cancel: () => {
        ended();
        timer.cancel();
      },
    };
  }

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    const ended = this.#begin();
    try {
      await this.#clock.sleep(delayMs, signal);
    } finally {
      ended();
    }
  }

  /** Counts a timer. Returns an idempotent function that ends it. */
  #begin(): () => void {
    this.#pending++;
    let ended = false;
    return () => {
      if (!ended) this.#pending--;
      ended = true;
    };
  }
}
