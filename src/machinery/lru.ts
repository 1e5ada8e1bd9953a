// A cache with a bound: what was not used for longest goes first.

export interface LruCacheConfig<K, V> {
  /** The most entries that are kept; at least 1. */
  readonly capacity: number;
  /** Called with an entry that goes for lack of room (not with one that is deleted or replaced). */
  readonly onEvict?: (key: K, value: V) => void;
}

/** All operations take constant time. Undefined is no value. */
export class LruCache<K, V> {
  readonly #capacity: number;
  readonly #onEvict: ((key: K, value: V) => void) | undefined;
  /** A Map keeps its entries in the order of insertion: the first is the one not used for longest. */
  readonly #entries = new Map<K, V>();
  /** The key that was used last, while it is there: to use it again changes nothing. */
  #newest: K | undefined;

  constructor(config: LruCacheConfig<K, V>) {
    if (!(config.capacity >= 1)) throw new RangeError(`capacity must be at least 1, not ${config.capacity}`);
    this.#capacity = config.capacity;
    this.#onEvict = config.onEvict;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value, which counts as used now. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || key === this.#newest) return value;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#newest = key;
    return value;
  }

  /** The value; its use does not count. */
  peek(key: K): V | undefined {
    return this.#entries.get(key);
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#newest = key;
    if (this.#entries.size <= this.#capacity) return;
    const [oldestKey, oldestValue] = this.#entries.entries().next().value as [K, V];
    this.#entries.delete(oldestKey);
    this.#onEvict?.(oldestKey, oldestValue);
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
