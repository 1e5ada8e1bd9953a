// Maps and sets whose members come and go: requests in flight, pending writes, queued keys.
//
// V8 gives a Map a new table whenever the old one is full or nearly empty, and the old table
// points to the new one for the sake of active iterators (a «deterministic hash table», after Tyler
// Close). The old table still holds its former entries. Once a single table has reached the old
// generation, which is collected rarely, every later table counts as alive with all of its former
// entries: objects that lived for a millisecond are copied twice and collected last. In a server
// that creates 6,000 objects a second this was most of the garbage collector's copying.
//
// TransientMap never deletes from a Map: a removed member leaves its key without the value. When
// there are more dead keys than live ones, the live entries move to a new Map, to which the old one
// does not point.

/** The minimum number of dead keys for which copying pays. */
const MIN_DEAD = 64;

/**
 * A Map for short-lived members. `undefined` is not a value. All operations take constant amortized
 * time.
 */
export class TransientMap<K, V> {
  /** The value undefined marks a removed key. */
  #entries = new Map<K, V | undefined>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  has(key: K): boolean {
    return this.#entries.get(key) !== undefined;
  }

  set(key: K, value: V & ({} | null)): void {
    if (this.#entries.get(key) === undefined) this.#size++;
    this.#entries.set(key, value);
  }

  /** Adds an entry whose key is absent. Unlike set(), it does not look the key up. */
  add(key: K, value: V & ({} | null)): void {
    this.#size++;
    this.#entries.set(key, value);
  }

  /** Removes the key. Returns whether it was present. */
  delete(key: K): boolean {
    if (this.#entries.get(key) === undefined) return false;
    this.#entries.set(key, undefined);
    this.#size--;
    if (this.#entries.size > 2 * this.#size + MIN_DEAD) this.#leaveDeadBehind();
    return true;
  }

  clear(): void {
    this.#entries = new Map();
    this.#size = 0;
  }

  /**
   * Iterates over the entries at the beginning of the iteration, except for entries that are
   * removed before their turn. The order is arbitrary.
   */
  *entries(): Generator<[K, V], undefined> {
    for (const entry of this.#entries) {
      // The inner Map may have been replaced meanwhile.
      if (entry[1] !== undefined && this.has(entry[0])) yield entry as [K, V];
    }
  }

  /** Iterates over the keys as entries() does. */
  *keys(): Generator<K, undefined> {
    for (const [key] of this.entries()) yield key;
  }

  /** Iterates over the values as entries() does. */
  *values(): Generator<V, undefined> {
    for (const [, value] of this.entries()) yield value;
  }

  #leaveDeadBehind(): void {
    const alive = new Map<K, V | undefined>();
    if (this.#size > 0)
      for (const [key, value] of this.#entries) if (value !== undefined) alive.set(key, value);
    this.#entries = alive;
  }
}

/** A Set for short-lived members. */
export class TransientSet<T> {
  readonly #members = new TransientMap<T, true>();

  get size(): number {
    return this.#members.size;
  }

  has(member: T): boolean {
    return this.#members.has(member);
  }

  add(member: T): void {
    this.#members.set(member, true);
  }

  /** Removes the member. Returns whether it was present. */
  delete(member: T): boolean {
    return this.#members.delete(member);
  }

  clear(): void {
    this.#members.clear();
  }

  /** Iterates over the members as TransientMap.entries() does. */
  [Symbol.iterator](): Generator<T, undefined> {
    return this.#members.keys();
  }
}
