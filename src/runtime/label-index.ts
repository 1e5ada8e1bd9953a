// Finds by labels without looking at everything: for each label that somebody has selected by, what there is by its values.

type Labels = Readonly<Record<string, string>>;

export class LabelIndex<T> {
  readonly #labelsOf: (item: T) => Labels | undefined;
  readonly #items = new Set<T>();
  /** Key → value → what has it. Only keys that were asked for. */
  readonly #byKey = new Map<string, Map<string, Set<T>>>();

  /** `labelsOf`: never changes for an item. */
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

  /** What has the first of these labels, in the order in which it came; everything if there is none. The others are the caller's to look at. */
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
