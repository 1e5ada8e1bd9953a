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

/**
 * A signal that aborts when one of several others does, until it is released. AbortSignal.any does that too, but a signal
 * that lives for long never forgets what was made from it (Node 20), and every call would leave something behind.
 */
export class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #parents: readonly AbortSignal[];

  /** Undefined parents are left out. */
  constructor(...parents: readonly (AbortSignal | undefined)[]) {
    this.#parents = parents.filter((parent) => parent !== undefined);
    for (const parent of this.#parents) {
      if (parent.aborted) this.#controller.abort(parent.reason);
      else sharedByMany(parent).addEventListener('abort', this.#onAbort);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Also releases. */
  abort(reason?: unknown): void {
    this.release();
    this.#controller.abort(reason);
  }

  /** The others no longer count. Idempotent. */
  release(): void {
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (event: Event): void => this.abort((event.target as AbortSignal).reason);
}
