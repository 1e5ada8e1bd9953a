// A binary heap whose items have keys, so that one can be replaced or taken out before it reaches the top: timers, delaying
// queues, the scheduler's queues.

export interface KeyedHeapConfig<K, T> {
  /** What identifies an item; must not change while the item is in the heap. */
  readonly keyOf: (item: T) => K;
  /** True when `a` comes out before `b`. A strict order; where neither is less, the order of coming out is arbitrary. */
  readonly less: (a: T, b: T) => boolean;
}

/** At most one item per key. `put`, `delete`, `pop`: O(log n); `get`, `has`, `peek`: O(1). */
export class KeyedHeap<K, T> {
  readonly #keyOf: (item: T) => K;
  readonly #less: (a: T, b: T) => boolean;
  /** A binary heap: #items[i] is never less than #items[(i - 1) >> 1]. */
  readonly #items: T[] = [];
  /** Key → index in #items, for every item. */
  readonly #positions = new Map<K, number>();

  constructor(config: KeyedHeapConfig<K, T>) {
    this.#keyOf = config.keyOf;
    this.#less = config.less;
  }

  get size(): number {
    return this.#items.length;
  }

  has(key: K): boolean {
    return this.#positions.has(key);
  }

  get(key: K): T | undefined {
    const position = this.#positions.get(key);
    return position === undefined ? undefined : this.#items[position];
  }

  /** The first item, left in place. */
  peek(): T | undefined {
    return this.#items[0];
  }

  /** Takes the first item out. */
  pop(): T | undefined {
    return this.#items.length === 0 ? undefined : this.#removeAt(0);
  }

  /** Adds the item, or puts it in the place of the one with its key. */
  put(item: T): void {
    const key = this.#keyOf(item);
    const position = this.#positions.get(key);
    if (position === undefined) {
      this.#items.push(item);
      this.#positions.set(key, this.#items.length - 1);
      this.#up(this.#items.length - 1);
    } else {
      this.#items[position] = item;
      this.#restore(position);
    }
  }

  /** Takes the item with this key out and answers it. */
  delete(key: K): T | undefined {
    const position = this.#positions.get(key);
    return position === undefined ? undefined : this.#removeAt(position);
  }

  clear(): void {
    this.#items.length = 0;
    this.#positions.clear();
  }

  /** Every item, in no particular order. */
  values(): readonly T[] {
    return [...this.#items];
  }

  #removeAt(position: number): T {
    const removed = this.#items[position] as T;
    const last = this.#items.pop() as T;
    this.#positions.delete(this.#keyOf(removed));
    if (position < this.#items.length) {
      this.#place(last, position);
      this.#restore(position);
    }
    return removed;
  }

  #place(item: T, position: number): void {
    this.#items[position] = item;
    this.#positions.set(this.#keyOf(item), position);
  }

  #restore(position: number): void {
    if (!this.#up(position)) this.#down(position);
  }

  /** True if the item moved. */
  #up(start: number): boolean {
    const item = this.#items[start] as T;
    let position = start;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      const above = this.#items[parent] as T;
      if (!this.#less(item, above)) break;
      this.#place(above, position);
      position = parent;
    }
    if (position === start) return false;
    this.#place(item, position);
    return true;
  }

  #down(start: number): void {
    const item = this.#items[start] as T;
    const count = this.#items.length;
    let position = start;
    for (;;) {
      let child = 2 * position + 1;
      if (child >= count) break;
      if (child + 1 < count && this.#less(this.#items[child + 1] as T, this.#items[child] as T)) child++;
      if (!this.#less(this.#items[child] as T, item)) break;
      this.#place(this.#items[child] as T, position);
      position = child;
    }
    if (position !== start) this.#place(item, position);
  }
}
