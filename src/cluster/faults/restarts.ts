// Computes how long a failed component waits before its restart.

import type { Clock } from '#machinery/clock.ts';

const FIRST_MS = 1000;
const MAX_MS = 60_000;
/** A component that has run for so long without an error begins with the shortest wait again. */
const RESET_MS = 10 * 60_000;

export class RestartBackoff {
  readonly #clock: Clock;
  #delayMs = FIRST_MS;
  #last = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the time to wait now, in milliseconds, and doubles the next one. */
  next(): number {
    const now = this.#clock.monotonic();
    if (now - this.#last > RESET_MS) this.#delayMs = FIRST_MS;
    this.#last = now;
    const delay = this.#delayMs;
    this.#delayMs = Math.min(delay * 2, MAX_MS);
    return delay;
  }
}
