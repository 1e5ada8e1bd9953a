// A broadcast: one producer, any number of listeners, each with its own queue. Our runtimes publish
// container events with it.

import { setMaxListeners } from 'node:events';

/** A listener that lags this far behind is ended, and has to list again. */
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

  /** Publishes `item` to all present listeners. */
  publish(item: T): void {
    for (const subscription of this.#subscriptions) subscription.push(item);
  }

  /**
   * Yields every item published after this call (not only after the first read), until `signal`
   * aborts or the broadcast is closed.
   */
  subscribe(signal: AbortSignal): AsyncIterable<T> {
    const subscription = new Subscription<T>();
    const subscriptions = this.#subscriptions;
    // Many listeners share one signal, one for each node of a cluster: this is not a leak.
    setMaxListeners(0, signal, this.#closed.signal);
    if (!signal.aborted) {
      subscriptions.add(subscription);
      // Removed here, too, because a listener that never starts to read would otherwise stay for
      // ever.
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

  /** Ends each listener's iteration after it has read all published items. */
  close(): void {
    this.#closed.abort();
  }
}
