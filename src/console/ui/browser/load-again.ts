// Scripts that are loaded later. A load that fails is tried again: networks change, and servers
// restart.

import { type Clock, sleep } from './clock.ts';

const DELAYS_MS = [200, 1000, 3000, 8000];

/** Returns the result of `load`, which is called again after a failure, five times in all. */
export async function loadAgain<T>(load: () => Promise<T>, clock: Clock): Promise<T> {
  for (const delayMs of DELAYS_MS) {
    try {
      return await load();
    } catch (error) {
      console.warn('a script was not loaded, will retry', error);
      await sleep(clock, delayMs);
    }
  }
  return load();
}
