// Finds entries by labels without a scan: for each label key that was used in a selector, it has
// the entries by value.

type Labels = Readonly<Record<string, string>>;

/** The entries with one value of a label: most often a single one, for which a Set is large. */
type Entries<T> = T | Set<T>;

/** `T`: not a Set. */
export class LabelIndex<T extends object> {
  readonly #labelsOf: (item: T) => Labels | undefined;
  readonly #items = new Set<T>();
  /** Key → value → entries. It has only keys that were used in a selector. */
  readonly #byKey = new Map<string, Map<string, Entries<T>>>();

  /** Creates an empty index. `labelsOf`: must not change for an item. */
  constructor(labelsOf: (item: T) => Labels | undefined) {
    this.#labelsOf = labelsOf;
  }

  add(item: T): void {
    this.#items.add(item);
    for (const [key, byValue] of this.#byKey) this.#enter(byValue, key, item);
  }

  delete(item: T): void {
    this.#items.delete(item);
    for (const [key, byValue] of this.#byKey) {
      const value = this.#labelsOf(item)?.[key];
      if (value === undefined) continue;
      const entries = byValue.get(value);
      if (entries instanceof Set) entries.delete(item);
      if (entries === item || (entries instanceof Set && entries.size === 0)) byValue.delete(value);
    }
  }

  /**
   * Returns the entries with the first of these labels, in insertion order; all if there is none.
   * The caller checks the other labels.
   */
  candidates(selector: Labels | undefined): Iterable<T> {
    const [first] = Object.entries(selector ?? {});
    if (first === undefined) return this.#items;
    const [key, value] = first;
    let byValue = this.#byKey.get(key);
    if (byValue === undefined) {
      byValue = new Map<string, Entries<T>>();
      for (const item of this.#items) this.#enter(byValue, key, item);
      this.#byKey.set(key, byValue);
    }
    const entries = byValue.get(value);
    if (entries === undefined) return [];
    return entries instanceof Set ? entries : [entries];
  }

  #enter(byValue: Map<string, Entries<T>>, key: string, item: T): void {
    const value = this.#labelsOf(item)?.[key];
    if (value === undefined) return;
    const entries = byValue.get(value);
    if (entries instanceof Set) entries.add(item);
    else byValue.set(value, entries === undefined ? item : new Set([entries, item]));
  }
}
