// The processor time of this process's first thread: in one turn of the event loop, it says how long
// other work would wait on a machine that is not shared.

import { readFileSync } from 'node:fs';
import { systemClock, type Timer } from '#machinery/clock.ts';

/** The interval in ms at which the time is read: so much of other turns may count as part of one. */
const LOOK_MS = 1;

/** Returns the processor time of the calling thread so far, in ms. Only on Linux. */
export function thisThreadMs(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
}

/**
 * Measures the processor time of the thread's longest turn of the event loop. A thread that waits
 * stays idle but for a timer.
 */
export class Turns {
  #last = thisThreadMs();
  #lap = 0;
  #longest = 0;
  #timer: Timer;

  constructor() {
    const look = (): void => {
      this.#look();
      this.#timer = systemClock.setTimer(LOOK_MS, look);
    };
    this.#timer = systemClock.setTimer(LOOK_MS, look);
  }

  /** Returns the longest turn in ms since the last call, or since the start. */
  lap(): number {
    const lap = this.#lap;
    this.#lap = 0;
    return lap;
  }

  /** Ends the measurement. Returns the longest turn of all in ms. */
  stop(): number {
    this.#timer.cancel();
    return this.#longest;
  }

  #look(): void {
    const now = thisThreadMs();
    this.#lap = Math.max(this.#lap, now - this.#last);
    this.#longest = Math.max(this.#longest, this.#lap);
    this.#last = now;
  }
}
