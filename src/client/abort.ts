// Giving up on what takes too long.

import { setMaxListeners } from 'node:events';
import { Link, LinkedList } from '#machinery/collections/linked-list.ts';

/** Many wait on this signal, as many as there are calls under way: that is no leak, so the platform need not warn of it. */
export function sharedByMany(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

/** A signal, or something like one. */
export interface Abortable {
  readonly aborted: boolean;
  readonly reason: unknown;
  /** Calls back, without throwing, when it aborts: once, unless what is answered is called before. Not if it has aborted already. */
  onAbort(callback: () => void): () => void;
}

class Callback extends Link {
  readonly run: () => void;

  constructor(run: () => void) {
    super();
    this.run = run;
  }
}

/** Callbacks that wait for a signal that many use; the same one may be there several times. */
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

/** One platform listener for each signal, however many callers wait. Platform listeners cost several times as much as these callbacks. */
const callbacksOf = new WeakMap<AbortSignal, Callbacks>();

/** See Abortable.onAbort. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let callbacks = callbacksOf.get(signal);
  if (callbacks === undefined) {
    const made = new Callbacks();
    callbacks = made;
    callbacksOf.set(signal, made);
    signal.addEventListener('abort', () => made.runAll(), { once: true });
  }
  return callbacks.add(callback);
}

/** The promise's result, or a rejection with the signal's reason, whichever comes first. What the promise does goes on. */
export function abortable<R>(promise: Promise<R>, signal: AbortSignal | Abortable): Promise<R> {
  if (signal.aborted) {
    // Its failure is not reported: the caller has gone.
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
 * Aborts when one of several signals does, until it is released. AbortSignal.any does that too, but a signal that lives for
 * long never forgets what was made from it (Node 20), and every call would leave something behind. A signal of its own is made
 * only for who asks.
 */
export class LinkedAbort implements Abortable {
  readonly #releases: (() => void)[] = [];
  /** The waiting callers: rarely more than two. */
  #callbacks: (() => void)[] = [];
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: unknown;

  /** Undefined parents are left out. */
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
    // The same callback may be there several times, and each is released by itself.
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

  /** Also releases. */
  abort(reason?: unknown): void {
    this.release();
    if (this.#aborted) return;
    this.#aborted = true;
    // As the platform words it.
    this.#reason = reason ?? new DOMException('This operation was aborted', 'AbortError');
    this.#controller?.abort(this.#reason);
    for (const run of this.#callbacks.splice(0)) run();
  }

  /** The others no longer count. Idempotent. */
  release(): void {
    for (const release of this.#releases.splice(0)) release();
  }
}
