// A map from strings to values that can be forked in constant time. The fork and the original begin
// with the same entries and do not see each other's changes.
//
// A map that was never forked is a plain Map. The first fork makes that Map shared and immutable,
// and each side then keeps its changes in a persistent map. A side with many changes gets a Map of
// its own.

import { PersistentMap } from './persistent-map.ts';

/** Marks a key of the shared map as deleted in this map. */
const DELETED = Symbol('deleted');

/** The number of changes up to which a side keeps the shared map. */
const MIN_CHANGES = 256;

/**
 * A map that can be forked. `undefined` is not a value. Values must not be modified while a fork
 * may share them.
 */
export class ForkableMap<V extends object> {
  /** The entries, which are shared and immutable if #changes is set. */
  #entries: Map<string, V>;
  #changes: PersistentMap<V | typeof DELETED> | undefined;
  #size: number;

  constructor() {
    this.#entries = new Map();
    this.#size = 0;
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const changed = this.#changes?.get(key);
    if (changed === undefined) return this.#entries.get(key);
    return changed === DELETED ? undefined : changed;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  set(key: string, value: V): void {
    if (this.#changes === undefined) {
      this.#entries.set(key, value);
      this.#size = this.#entries.size;
      return;
    }
    if (this.get(key) === undefined) this.#size++;
    this.#changes = this.#changes.set(key, value);
    this.#mayCopy();
  }

  /** Deletes an entry. Reports whether it existed. */
  delete(key: string): boolean {
    if (this.#changes === undefined) {
      const deleted = this.#entries.delete(key);
      this.#size = this.#entries.size;
      return deleted;
    }
    if (this.get(key) === undefined) return false;
    this.#size--;
    this.#changes = this.#entries.has(key)
      ? this.#changes.set(key, DELETED)
      : this.#changes.delete(key);
    this.#mayCopy();
    return true;
  }

  /** Returns a map with the same entries. O(1). */
  fork(): ForkableMap<V> {
    this.#changes ??= PersistentMap.empty();
    const fork = new ForkableMap<V>();
    fork.#entries = this.#entries;
    fork.#changes = this.#changes;
    fork.#size = this.#size;
    return fork;
  }

  /**
   * Gives this side a Map of its own when its changes are a large part of the entries, so that the
   * copy takes constant amortized time per change.
   */
  #mayCopy(): void {
    const changes = this.#changes;
    if (changes === undefined || changes.size <= MIN_CHANGES + this.#entries.size / 2) return;
    const own = new Map(this.#entries);
    for (const [key, value] of changes) {
      if (value === DELETED) own.delete(key);
      else own.set(key, value);
    }
    this.#entries = own;
    this.#changes = undefined;
  }
}
