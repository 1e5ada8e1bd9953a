// A cache of limited size. The least recently used entry is evicted first.

import { TransientMap } from './transient-map.ts';

export interface LruCacheConfig {
  /** The maximum number of entries; at least 1. */
  readonly capacity: number;
}

/** An entry in the chain from the least to the most recently used. */
interface Entry<K, V> {
  readonly key: K;
  value: V;
  older: Entry<K, V> | undefined;
  newer: Entry<K, V> | undefined;
}

/** A cache whose operations take constant time. `undefined` is not a value. */
export class LruCache<K, V> {
  readonly #capacity: number;
  readonly #entries = new TransientMap<K, Entry<K, V>>();
  #oldest: Entry<K, V> | undefined;
  #newest: Entry<K, V> | undefined;

  constructor(config: LruCacheConfig) {
    if (!(config.capacity >= 1))
      throw new RangeError(`capacity must be at least 1, not ${config.capacity}`);
    this.#capacity = config.capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the value and marks it as used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#use(entry);
    return entry.value;
  }

  /** Returns the value without marking it as used. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: K, value: V): void {
    const present = this.#entries.get(key);
    if (present !== undefined) {
      present.value = value;
      this.#use(present);
      return;
    }
    const entry: Entry<K, V> = { key, value, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#append(entry);
    if (this.#entries.size <= this.#capacity) return;
    const oldest = this.#oldest!;
    this.#takeOut(oldest);
    this.#entries.delete(oldest.key);
  }

  #use(entry: Entry<K, V>): void {
    if (entry === this.#newest) return;
    this.#takeOut(entry);
    this.#append(entry);
  }

  #append(entry: Entry<K, V>): void {
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #takeOut(entry: Entry<K, V>): void {
    const { older, newer } = entry;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    // A removed entry must not keep later entries reachable for the garbage collector.
    entry.older = undefined;
    entry.newer = undefined;
  }
}
