// Parts that all clocks share.

import type { Clock } from './interface.ts';

/** Resolves after `delayMs`; rejects with the signal's reason as soon as the signal aborts. */
export function sleepOn(
  clock: Clock,
  delayMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Throws RangeError for a delay that is no number. */
export function checkDelay(delayMs: number): void {
  if (Number.isNaN(delayMs)) throw new RangeError('a delay must be a number of milliseconds');
}

/** Throws RangeError for an interval that is not positive. */
export function checkInterval(intervalMs: number): void {
  if (!(intervalMs > 0))
    throw new RangeError(`an interval must be more than 0 ms, not ${intervalMs}`);
}
