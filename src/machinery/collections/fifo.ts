// A queue whose ends are all that is touched: what waits for its turn.
//
// A ring in one array. What is taken leaves nothing behind: an array that is read from an index on, and thrown away when it has been read
// to its end, keeps all that was ever in it for as long as it does not run empty, which a busy server's never does.

/** The capacity is a power of two, so that an index comes round by a mask. */
const FIRST_CAPACITY = 8;
/** A ring larger than this is not kept for the next burst. */
const MAX_KEPT_CAPACITY = 1024;

/** First in, first out; each operation takes constant time, amortized. */
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

  /** The oldest; undefined if there is none. */
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
