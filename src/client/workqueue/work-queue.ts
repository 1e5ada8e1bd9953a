// A queue of keys to process. Each key is at most once in the queue, and never with two workers at
// a time.
//
// Guarantees: keys come out in the order in which they were first added; a key that is added
// several times before a worker takes it comes out once; a key that is added while a worker has it
// comes out again after that worker is done with it, and not before. Keys are compared as in a Set,
// so they are strings, or objects with a single instance per key.
// Not guaranteed: that the object of a key still exists. A key means «look again», not what
// happened.

import { Fifo } from '#machinery/collections/fifo.ts';
import { TransientSet } from '#machinery/collections/transient-map.ts';
import type { QueueMetrics } from './metrics.ts';

export interface WorkQueueConfig<K> {
  /** Records the work. Default: no metrics. */
  readonly metrics?: QueueMetrics<K>;
}

/** A queue of keys. Each `get` that returns a key requires one `done` of that key. */
export class WorkQueue<K = string> {
  /** Keys in the order in which workers get them: each is in #dirty, none is in #processing. */
  readonly #queue = new Fifo<K>();
  /** Keys that need work: the keys in #queue, and keys that were added while a worker has them. */
  readonly #dirty = new TransientSet<K>();
  /**
   * Keys that workers have now. Keys that are also in #dirty return to #queue when they are done.
   */
  readonly #processing = new TransientSet<K>();
  /** Pending calls of get(), oldest first. Empty while #queue has keys. */
  readonly #waiters = new Fifo<(key: K | undefined) => void>();
  #shuttingDown = false;
  #drained: (() => void)[] = [];
  readonly #metrics: QueueMetrics<K> | undefined;

  constructor({ metrics }: WorkQueueConfig<K> = {}) {
    this.#metrics = metrics;
  }

  /** The number of keys that wait for a worker. Keys of workers are not counted. */
  get length(): number {
    return this.#queue.length;
  }

  get shuttingDown(): boolean {
    return this.#shuttingDown;
  }

  /** Adds a key. Does nothing once the queue shuts down. */
  add(key: K): void {
    if (this.#shuttingDown || this.#dirty.has(key)) return;
    this.#dirty.add(key);
    this.#metrics?.add(key);
    if (!this.#processing.has(key)) this.#enqueue(key);
  }

  /** Waits for a key. Returns undefined once the queue shuts down and is empty. */
  get(): Promise<K | undefined> {
    if (this.length > 0) return Promise.resolve(this.#take());
    if (this.#shuttingDown) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Reports that a worker has finished the key. If it was added meanwhile, it is queued again. */
  done(key: K): void {
    if (!this.#processing.delete(key)) return;
    this.#metrics?.done(key);
    if (this.#dirty.has(key)) this.#enqueue(key);
    this.#checkDrained();
  }

  /** Accepts no more keys. Workers get the queued keys, then undefined. */
  shutDown(): void {
    if (this.#shuttingDown) return;
    this.#shuttingDown = true;
    for (
      let resolve = this.#waiters.shift();
      resolve !== undefined;
      resolve = this.#waiters.shift()
    )
      resolve(undefined);
    this.#checkDrained();
  }

  /** Shuts down. Resolves when workers are done with every queued key. */
  shutDownWithDrain(): Promise<void> {
    const drained = new Promise<void>((resolve) => this.#drained.push(resolve));
    this.shutDown();
    this.#checkDrained();
    return drained;
  }

  #enqueue(key: K): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#queue.push(key);
      return;
    }
    this.#dirty.delete(key);
    this.#processing.add(key);
    this.#metrics?.take(key);
    waiter(key);
  }

  #take(): K {
    const key = this.#queue.shift() as K;
    this.#dirty.delete(key);
    this.#processing.add(key);
    this.#metrics?.take(key);
    return key;
  }

  #checkDrained(): void {
    if (!this.#shuttingDown || this.#processing.size > 0 || this.length > 0) return;
    const drained = this.#drained;
    this.#drained = [];
    for (const resolve of drained) resolve();
  }
}
