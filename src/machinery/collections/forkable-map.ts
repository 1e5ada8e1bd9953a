// A map from strings to values that can be forked in constant time: the fork and the original begin
// with the same entries, and a change of one is not seen by the other.
//
// A map that was never forked is a plain Map. From the first fork on that Map is shared and never
// changes again; each side has its changes in a persistent map beside it. When a side has many
// changes, it gets a Map of its own.

import { PersistentMap } from './persistent-map.ts';

/** The entry of a key that the shared map has and this one has not. */
const DELETED = Symbol('deleted');

/** The changes of a side that are not worth a Map of its own. */
const MIN_CHANGES = 256;

/** `undefined` is no value. Values must not be changed while a fork may have them, too. */
export class ForkableMap<V extends object> {
  /** Shared if #changes is set. */
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

  /** Reports whether the key was there. */
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
   * Gives this side a Map of its own once its changes are a good part of the whole, so that the
   * copy is paid by the changes.
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
