// Deadlines. A wait for a peer or a runtime ends at its deadline even if the other side never
// responds.

import type { Clock } from '#machinery/clock.ts';

/** The deadline has passed. */
export class TimeoutError extends Error {
  constructor() {
    super('timed out');
    this.name = 'TimeoutError';
  }
}

/**
 * Runs `work` with a signal that aborts after `timeoutMs` or with `signal`. Rejects at that moment,
 * with TimeoutError or the signal's reason, even if `work` ignores its signal; its result is then
 * dropped.
 */
export async function withTimeout<T>(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = clock.setTimer(timeoutMs, () => controller.abort(new TimeoutError()));
  const onAbort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    return await untilAborted(work(controller.signal), controller.signal);
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}

/**
 * Returns a promise that settles with `promise`, or rejects with the signal's reason as soon as it
 * aborts. The work behind the promise may continue.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
