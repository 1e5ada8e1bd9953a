// The processor time of this process's first thread: in one turn of the event loop, it says how long
// other work would wait on a machine that is not shared.

import { readFileSync } from 'node:fs';

/** Returns the processor time of the calling thread so far, in ms. Only on Linux. */
export function thisThreadMs(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
}

/** Measures the processor time of the thread in each turn of the event loop. */
export class Turns {
  #last = thisThreadMs();
  #longest = 0;
  #isOver = false;

  constructor() {
    const look = (): void => {
      const now = thisThreadMs();
      this.#longest = Math.max(this.#longest, now - this.#last);
      this.#last = now;
      if (!this.#isOver) setImmediate(look);
    };
    setImmediate(look);
  }

  /** Ends the measurement. Returns the longest turn in ms. */
  stop(): number {
    this.#isOver = true;
    return this.#longest;
  }
}
