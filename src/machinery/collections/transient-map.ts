// Maps and sets whose members come and go: requests under way, pending writes, queued keys.
//
// V8 gives a Map a new table whenever the old one is full or nearly empty, and lets the old table point to the new one, for
// iterators that are under way (a «deterministic hash table», after Tyler Close). The old table still holds what was in it. Once
// a single table has come into the old generation, where nothing is collected for a while, each table that follows counts as
// alive, with everything that it ever held: what lived for a millisecond is copied twice and collected last. In a server that
// creates 6,000 objects a second that was most of what the garbage collector copied.
//
// Here nothing is deleted from a Map: members that go leave their key behind, without the value, and when more keys are dead
// than alive those alive go into a new Map, to which nothing points from the old one.

/** So many dead keys are not worth the copying. */
const MIN_DEAD = 64;

/** A Map for members that do not stay. `undefined` is no value. All operations take constant time, amortized. */
export class TransientMap<K, V> {
  /** Undefined: the key has gone. */
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

  /** As set(), of a key that is not there: nothing is looked up. */
  add(key: K, value: V & ({} | null)): void {
    this.#size++;
    this.#entries.set(key, value);
  }

  /** Whether it was there. */
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

  /** Iterates over the entries at the beginning of the iteration, without those that are removed before their turn; in no particular order. */
  *entries(): Generator<[K, V], undefined> {
    for (const entry of this.#entries) {
      // Its Map may have been left behind meanwhile.
      if (entry[1] !== undefined && this.has(entry[0])) yield entry as [K, V];
    }
  }

  /** See entries(). */
  *keys(): Generator<K, undefined> {
    for (const [key] of this.entries()) yield key;
  }

  /** See entries(). */
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

/** A Set for members that do not stay. */
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

  /** Whether it was there. */
  delete(member: T): boolean {
    return this.#members.delete(member);
  }

  clear(): void {
    this.#members.clear();
  }

  /** See TransientMap.entries(). */
  [Symbol.iterator](): Generator<T, undefined> {
    return this.#members.keys();
  }
}
