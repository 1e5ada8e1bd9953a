// A binary heap whose items have keys, so that an item can be replaced or removed before it reaches
// the top: for timers, delaying queues and the scheduler's queues.

import { TransientMap } from './transient-map.ts';

export interface KeyedHeapConfig<K, T> {
  /** Returns the identity of an item. It must not change while the item is in the heap. */
  readonly keyOf: (item: T) => K;
  /**
   * Reports whether `a` comes before `b`: a strict order. Equal items come out in arbitrary order.
   */
  readonly less: (a: T, b: T) => boolean;
}

/** An item with its position. Moving it within the heap does not touch the map. */
interface Entry<K, T> {
  readonly key: K;
  item: T;
  position: number;
}

/**
 * A heap with at most one item per key. `put`, `delete`, `pop`: O(log n); `get`, `has`, `peek`:
 * O(1).
 */
export class KeyedHeap<K, T> {
  readonly #keyOf: (item: T) => K;
  readonly #less: (a: T, b: T) => boolean;
  /** The heap: the item of #entries[i] is never less than that of #entries[(i - 1) >> 1]. */
  readonly #entries: Entry<K, T>[] = [];
  /** Every entry by its key; its position is its index in #entries. */
  readonly #byKey = new TransientMap<K, Entry<K, T>>();

  constructor(config: KeyedHeapConfig<K, T>) {
    this.#keyOf = config.keyOf;
    this.#less = config.less;
  }

  get size(): number {
    return this.#entries.length;
  }

  has(key: K): boolean {
    return this.#byKey.has(key);
  }

  get(key: K): T | undefined {
    return this.#byKey.get(key)?.item;
  }

  /** Returns the first item without removing it. */
  peek(): T | undefined {
    return this.#entries[0]?.item;
  }

  /** Removes and returns the first item. */
  pop(): T | undefined {
    const [first] = this.#entries;
    return first === undefined ? undefined : this.#remove(first);
  }

  /** Adds the item, or replaces the item with the same key. */
  put(item: T): void {
    const key = this.#keyOf(item);
    const present = this.#byKey.get(key);
    if (present === undefined) {
      const entry = { key, item, position: this.#entries.length };
      this.#byKey.set(key, entry);
      this.#entries.push(entry);
      this.#up(entry);
    } else {
      present.item = item;
      this.#restore(present);
    }
  }

  /** Removes the item with this key and returns it. */
  delete(key: K): T | undefined {
    const entry = this.#byKey.get(key);
    return entry === undefined ? undefined : this.#remove(entry);
  }

  clear(): void {
    this.#entries.length = 0;
    this.#byKey.clear();
  }

  /** Returns an independent heap with the same items. O(n). */
  clone(): KeyedHeap<K, T> {
    const clone = new KeyedHeap<K, T>({ keyOf: this.#keyOf, less: this.#less });
    for (const { key, item, position } of this.#entries) {
      const entry = { key, item, position };
      clone.#entries.push(entry);
      clone.#byKey.set(key, entry);
    }
    return clone;
  }

  /** Returns all items, in no particular order. */
  values(): readonly T[] {
    return this.#entries.map(({ item }) => item);
  }

  #remove(entry: Entry<K, T>): T {
    const last = this.#entries.pop()!;
    this.#byKey.delete(entry.key);
    if (last !== entry) {
      this.#place(last, entry.position);
      this.#restore(last);
    }
    return entry.item;
  }

  #place(entry: Entry<K, T>, position: number): void {
    this.#entries[position] = entry;
    entry.position = position;
  }

  #restore(entry: Entry<K, T>): void {
    if (!this.#up(entry)) this.#down(entry);
  }

  /** Moves the entry up. Returns true if it moved. */
  #up(entry: Entry<K, T>): boolean {
    const start = entry.position;
    let position = start;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      const above = this.#entries[parent]!;
      if (!this.#less(entry.item, above.item)) break;
      this.#place(above, position);
      position = parent;
    }
    if (position === start) return false;
    this.#place(entry, position);
    return true;
  }

  #down(entry: Entry<K, T>): void {
    const count = this.#entries.length;
    const start = entry.position;
    let position = start;
    for (;;) {
      let child = 2 * position + 1;
      if (child >= count) break;
      let below = this.#entries[child]!;
      const right = this.#entries[child + 1];
      if (right !== undefined && this.#less(right.item, below.item)) {
        below = right;
        child++;
      }
      if (!this.#less(below.item, entry.item)) break;
      this.#place(below, position);
      position = child;
    }
    if (position !== start) this.#place(entry, position);
  }
}
