// The time of this machine.

import { inNextTurn } from '../pending-work.ts';
import { checkDelay, checkInterval, sleepOn } from './delays.ts';
import type { Clock } from './interface.ts';

/** The longest delay of the platform's timers. They fire at once for a longer one. */
const MAX_PLATFORM_DELAY_MS = 2 ** 31 - 1;

/**
 * The time of this machine. A pending `setTimer` or `sleep` keeps the process alive. A
 * `setInterval` does not: periodic housekeeping alone is not a reason to keep running.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    checkDelay(delayMs);
    if (delayMs <= 0) {
      // The platform's shortest timer takes a millisecond, which is long for code that only yields
      // to others.
      return { cancel: inNextTurn(callback) };
    }
    const deadline = performance.now() + delayMs;
    let handle: NodeJS.Timeout;
    const arm = (remaining: number): void => {
      handle = setTimeout(
        () => {
          const left = deadline - performance.now();
          // A rest below a millisecond is the platform's rounding; a longer one is the next piece
          // of a long delay.
          if (left >= 1) arm(left);
          else callback();
        },
        Math.min(Math.max(remaining, 0), MAX_PLATFORM_DELAY_MS),
      );
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
  setInterval(intervalMs, callback) {
    checkInterval(intervalMs);
    if (intervalMs <= MAX_PLATFORM_DELAY_MS) {
      const handle = setInterval(callback, intervalMs);
      handle.unref();
      return { cancel: () => clearInterval(handle) };
    }
    // An interval that is too long for the platform's timers must not fire at once.
    let handle: NodeJS.Timeout;
    let due = performance.now() + intervalMs;
    const arm = (): void => {
      handle = setTimeout(
        () => {
          if (due - performance.now() < 1) {
            due += intervalMs;
            callback();
          }
          arm();
        },
        Math.min(Math.max(due - performance.now(), 1), MAX_PLATFORM_DELAY_MS),
      );
      handle.unref();
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  },
  sleep(delayMs, signal) {
    return sleepOn(systemClock, delayMs, signal);
  },
};
