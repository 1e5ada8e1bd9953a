// Time in the browser. This file alone reads the browser's clock and sets its timers, so that the
// data layer is tested without waiting.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Returns the wall-clock time in milliseconds since the epoch. */
  now(): number;
  /** Runs `callback` once, after `delayMs`. */
  setTimer(delayMs: number, callback: () => void): Timer;
  /** Runs `callback` every `intervalMs`, first after one interval. */
  setInterval(intervalMs: number, callback: () => void): Timer;
}

export const browserClock: Clock = {
  now: () => Date.now(),
  setTimer(delayMs, callback) {
    const handle = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
  setInterval(intervalMs, callback) {
    const handle = setInterval(callback, intervalMs);
    return { cancel: () => clearInterval(handle) };
  },
};

/** Resolves after `delayMs`; rejects with the signal's reason as soon as the signal aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const abort = (): void => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}
