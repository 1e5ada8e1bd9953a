// One producer, any number of listeners, each with its own queue: how a runtime of our own hands
// out container events.

import { setMaxListeners } from 'node:events';

/** A listener that is this far behind has to list again. */
const MAX_PENDING = 100_000;

class Subscription<T> {
  #queue: T[] = [];
  #wake: (() => void) | undefined;
  #overflowed = false;

  push(item: T): void {
    if (this.#queue.length >= MAX_PENDING) {
      this.#queue = [];
      this.#overflowed = true;
    }
    this.#queue.push(item);
    this.#wake?.();
  }

  async *read(signal: AbortSignal, closed: AbortSignal): AsyncGenerator<T, void> {
    const wake = (): void => this.#wake?.();
    signal.addEventListener('abort', wake);
    closed.addEventListener('abort', wake);
    try {
      while (!signal.aborted) {
        if (this.#overflowed) throw new Error('the listener fell too far behind: events were lost');
        const items = this.#queue;
        this.#queue = [];
        yield* items;
        if (this.#queue.length > 0 || this.#overflowed || signal.aborted) continue;
        if (closed.aborted) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    } finally {
      signal.removeEventListener('abort', wake);
      closed.removeEventListener('abort', wake);
    }
  }
}

export class Broadcast<T> {
  readonly #subscriptions = new Set<Subscription<T>>();
  readonly #closed = new AbortController();

  get hasListeners(): boolean {
    return this.#subscriptions.size > 0;
  }

  /** Hands `item` to every listener there is now. */
  publish(item: T): void {
    for (const subscription of this.#subscriptions) subscription.push(item);
  }

  /**
   * Every item published from now (not from the first read) on, until `signal` aborts or the
   * broadcast is closed.
   */
  subscribe(signal: AbortSignal): AsyncIterable<T> {
    const subscription = new Subscription<T>();
    const subscriptions = this.#subscriptions;
    // Many may wait on one signal, as all the nodes of a cluster do: that is no leak.
    setMaxListeners(0, signal, this.#closed.signal);
    if (!signal.aborted) {
      subscriptions.add(subscription);
      // Not only in the iterator's end: a listener that never starts to read must not be remembered
      // for ever.
      signal.addEventListener('abort', () => subscriptions.delete(subscription), { once: true });
    }
    const closed = this.#closed.signal;
    return {
      async *[Symbol.asyncIterator]() {
        try {
          yield* subscription.read(signal, closed);
        } finally {
          subscriptions.delete(subscription);
        }
      },
    };
  }

  /** Ends every listener's iteration once it has read what was published. */
  close(): void {
    this.#closed.abort();
  }
}
