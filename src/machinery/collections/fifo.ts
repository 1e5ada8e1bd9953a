// A queue that is used at its two ends only.
//
// The items are in a ring within one array, and a removed item leaves no reference. An array that
// is read by a growing index would keep every item until the queue is empty, which the queues of a
// busy server never are.

/** The capacity is a power of two, so a mask wraps indexes around. */
const FIRST_CAPACITY = 8;
/** A ring larger than this is released when it becomes empty. */
const MAX_KEPT_CAPACITY = 1024;

/** A first-in, first-out queue. Each operation takes constant amortized time. */
export class Fifo<T> {
  #ring: (T | undefined)[] = [];
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = item;
    this.#length++;
  }

  /** Removes and returns the oldest item; undefined if there is none. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length--;
    if (this.#length === 0 && this.#ring.length > MAX_KEPT_CAPACITY) this.clear();
    return item;
  }

  clear(): void {
    this.#ring = [];
    this.#head = 0;
    this.#length = 0;
  }

  #grow(): void {
    const { length } = this.#ring;
    if (length === 0) {
      this.#ring = Array.from({ length: FIRST_CAPACITY });
      return;
    }
    const ring: (T | undefined)[] = Array.from({ length: 2 * length });
    for (let i = 0; i < this.#length; i++) ring[i] = this.#ring[(this.#head + i) & (length - 1)];
    this.#ring = ring;
    this.#head = 0;
  }
}
