// Finds entries by labels without a scan: for each label key that was used in a selector, it has
// the entries by value.

type Labels = Readonly<Record<string, string>>;

export class LabelIndex<T> {
  readonly #labelsOf: (item: T) => Labels | undefined;
  readonly #items = new Set<T>();
  /** Key → value → entries. It has only keys that were used in a selector. */
  readonly #byKey = new Map<string, Map<string, Set<T>>>();

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
      const items = byValue.get(value);
      items?.delete(item);
      if (items?.size === 0) byValue.delete(value);
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
      byValue = new Map();
      for (const item of this.#items) this.#enter(byValue, key, item);
      this.#byKey.set(key, byValue);
    }
    return byValue.get(value) ?? [];
  }

  #enter(byValue: Map<string, Set<T>>, key: string, item: T): void {
    const value = this.#labelsOf(item)?.[key];
    if (value === undefined) return;
    const items = byValue.get(value);
    if (items === undefined) byValue.set(value, new Set([item]));
    else items.add(item);
  }
}
