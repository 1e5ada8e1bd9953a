// The time of the cluster. It is the browser's, unless the cluster has a virtual clock, whose time
// the server publishes at an endpoint of its own. Timers are always the browser's.

import type { Clock, Timer } from '../../browser/clock.ts';
import type { Extras } from './extras.ts';

const REFRESH_MS = 3000;

export class ClusterClock implements Clock {
  readonly #clock: Clock;
  /** The cluster's time less the browser's. */
  #offsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() + this.#offsetMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#clock.setTimer(delayMs, callback);
  }

  readonly setInterval = (intervalMs: number, callback: () => void): Timer =>
    this.#clock.setInterval(intervalMs, callback);

  /** Follows the time of a virtual clock, if the cluster has one, until the signal aborts. */
  async follow(extras: Extras, signal: AbortSignal): Promise<void> {
    if (!(await extras.has('clock')) || signal.aborted) return;
    const look = async (): Promise<void> => {
      const { time } = await extras.json<{ time: string }>('clock', {}, signal);
      this.#offsetMs = Date.parse(time) - this.#clock.now();
    };
    await look();
    const timer = this.#clock.setInterval(REFRESH_MS, () => {
      // The connection shows that the server is away; the next look comes.
      look().catch(() => undefined);
    });
    signal.addEventListener('abort', () => timer.cancel(), { once: true });
  }
}
