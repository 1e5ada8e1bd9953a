// Giving up on what takes too long.

import { setMaxListeners } from 'node:events';

/** Many wait on this signal, as many as there are calls under way: that is no leak, so the platform need not warn of it. */
export function sharedByMany(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

/** The promise's result, or a rejection with the signal's reason, whichever comes first. What the promise does goes on. */
export function abortable<R>(promise: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
