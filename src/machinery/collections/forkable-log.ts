// A list that grows at its end, is cut at its beginning, and can be forked. The fork and the
// original share their first items. A fork copies one array with one entry per 256 items.

const BITS = 8;
const CHUNK = 1 << BITS;
const MASK = CHUNK - 1;

export class ForkableLog<T> {
  /** Chunks of items. All but the last are full, and full chunks never change. */
  #chunks: T[][] = [];
  /** The number of dropped items in the first chunk. */
  #offset = 0;
  #length = 0;
  /** A fork shares the last chunk, which is copied before an item is added. */
  #shared = false;

  get length(): number {
    return this.#length;
  }

  /** Returns the item at an index; undefined if there is none. */
  at(index: number): T | undefined {
    if (index < 0 || index >= this.#length) return undefined;
    const position = this.#offset + index;
    return this.#chunks[position >> BITS]?.[position & MASK];
  }

  push(item: T): void {
    const last = this.#chunks.length - 1;
    let chunk = this.#chunks[last];
    if (chunk === undefined || chunk.length === CHUNK) {
      this.#chunks.push([item]);
      this.#shared = false;
    } else {
      if (this.#shared) {
        chunk = chunk.slice();
        this.#chunks[last] = chunk;
        this.#shared = false;
      }
      chunk.push(item);
    }
    this.#length++;
  }

  /** Drops `count` items at the beginning. */
  dropFirst(count: number): void {
    const dropped = Math.min(Math.max(count, 0), this.#length);
    this.#length -= dropped;
    const offset = this.#offset + dropped;
    // Removes the chunks whose items are all dropped, including a full last chunk.
    this.#chunks.splice(0, offset >> BITS);
    this.#offset = offset & MASK;
    if (this.#chunks.length === 0) this.#offset = 0;
  }

  /** Drops `count` items at the end. */
  dropLast(count: number): void {
    const dropped = Math.min(Math.max(count, 0), this.#length);
    if (dropped === 0) return;
    this.#length -= dropped;
    const end = this.#offset + this.#length;
    const chunks = this.#chunks.slice(0, (end + MASK) >> BITS);
    const last = chunks.length - 1;
    const rest = end & MASK;
    if (rest !== 0) chunks[last] = (chunks[last] as T[]).slice(0, rest);
    this.#chunks = chunks;
    this.#shared = rest === 0;
    if (this.#length > 0) return;
    this.#chunks = [];
    this.#offset = 0;
    this.#shared = false;
  }

  fork(): ForkableLog<T> {
    this.#shared = true;
    const fork = new ForkableLog<T>();
    fork.#chunks = this.#chunks.slice();
    fork.#offset = this.#offset;
    fork.#length = this.#length;
    fork.#shared = true;
    return fork;
  }
}
