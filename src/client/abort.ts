// Abort signals: many listeners on one signal, and operations that end when a signal aborts.

import { setMaxListeners } from 'node:events';
import { Link, LinkedList } from '#machinery/collections/linked-list.ts';

/**
 * Returns the signal without its limit of listeners. Each call in flight listens to this signal, so
 * many listeners are not a leak, and the platform must not warn about one.
 */
export function sharedByMany(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

/** An AbortSignal, or an object with the same state. */
export interface Abortable {
  readonly aborted: boolean;
  readonly reason: unknown;
  /**
   * Calls `callback` once when it aborts, unless the returned function is called before. Never
   * calls it if it has aborted already. Does not throw.
   */
  onAbort(callback: () => void): () => void;
}

class Callback extends Link {
  readonly run: () => void;

  constructor(run: () => void) {
    super();
    this.run = run;
  }
}

/** The callbacks of a signal with many users. The same callback may be registered several times. */
class Callbacks {
  readonly #callbacks = new LinkedList<Callback>();

  add(run: () => void): () => void {
    const callback = new Callback(run);
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  runAll(): void {
    const callbacks = [...this.#callbacks];
    this.#callbacks.clear();
    for (const { run } of callbacks) run();
  }
}

/**
 * One platform listener per signal, however many callers wait. Platform listeners cost several
 * times as much as these callbacks.
 */
const callbacksOf = new WeakMap<AbortSignal, Callbacks>();

/** Registers a callback as Abortable.onAbort does. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let callbacks = callbacksOf.get(signal);
  if (callbacks === undefined) {
    const created = new Callbacks();
    callbacks = created;
    callbacksOf.set(signal, created);
    signal.addEventListener('abort', () => created.runAll(), { once: true });
  }
  return callbacks.add(callback);
}

/**
 * Returns the promise's result, or a rejection with the signal's reason, whichever comes first. The
 * work behind the promise continues.
 */
export function abortable<R>(promise: Promise<R>, signal: AbortSignal | Abortable): Promise<R> {
  if (signal.aborted) {
    // Its failure is not reported: the caller does not wait any more.
    promise.catch(() => undefined);
    return Promise.reject(signal.reason as Error);
  }
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    const release = 'onAbort' in signal ? signal.onAbort(giveUp) : onAbort(signal, giveUp);
    promise.then(
      (result) => {
        release();
        resolve(result);
      },
      (error: unknown) => {
        release();
        reject(error);
      },
    );
  });
}

/**
 * Aborts when one of several signals does, until it is released. AbortSignal.any would do that, but
 * in Node 20 a long-lived signal keeps every signal derived from it, so every call would leave
 * memory behind. An AbortSignal is created only on request.
 */
export class LinkedAbort implements Abortable {
  readonly #releases: (() => void)[] = [];
  /** The waiting callers, rarely more than two. */
  #callbacks: (() => void)[] = [];
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: unknown;

  /** Undefined parents are ignored. */
  constructor(...parents: readonly (AbortSignal | undefined)[]) {
    for (const parent of parents) {
      if (parent === undefined) continue;
      if (parent.aborted) this.abort(parent.reason);
      else this.#releases.push(onAbort(parent, () => this.abort(parent.reason)));
    }
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  onAbort(callback: () => void): () => void {
    // The same callback may be registered several times, and each registration is released
    // separately.
    const entry = (): void => callback();
    this.#callbacks.push(entry);
    return () => {
      const at = this.#callbacks.indexOf(entry);
      if (at >= 0) this.#callbacks.splice(at, 1);
    };
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  /** Aborts, and releases the parents. */
  abort(reason?: unknown): void {
    this.release();
    if (this.#aborted) return;
    this.#aborted = true;
    // The platform's default reason.
    this.#reason = reason ?? new DOMException('This operation was aborted', 'AbortError');
    this.#controller?.abort(this.#reason);
    for (const run of this.#callbacks.splice(0)) run();
  }

  /** Detaches from the parents. Idempotent. */
  release(): void {
    for (const release of this.#releases.splice(0)) release();
  }
}
