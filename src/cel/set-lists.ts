// Lists that are sets: some schemas define that the order does not matter, and which fields
// identify an item.

import { ListValue, mapGet, isMap, listItems, type Value } from './values.ts';

/** A set that an expression has created from other sets. */
class SetListValue extends ListValue {
  override readonly setBy: readonly string[];
  readonly #items: readonly Value[];

  constructor(items: readonly Value[], setBy: readonly string[]) {
    super();
    this.#items = items;
    this.setBy = setBy;
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): Value {
    return this.#items[index];
  }
}

/**
 * Returns the key by which a Map can find an item; undefined if only a comparison can identify it.
 */
export function itemKey(item: Value, setBy: readonly string[]): string | undefined {
  if (setBy.length === 0) return scalarKey(item);
  if (!isMap(item)) return undefined;
  const parts: string[] = [];
  for (const field of setBy) {
    const part = scalarKey(mapGet(item, field) ?? null);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return JSON.stringify(parts);
}

const scalarKey = (value: Value): string | undefined =>
  value === null || ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
    ? `${typeof value} ${String(value)}`
    : undefined;

/**
 * Returns `a + b`: the items of both. An item of `b` replaces the same item of `a` at its position.
 */
export function unite(
  a: ListValue,
  b: readonly unknown[] | ListValue,
  equals: (x: Value, y: Value) => boolean,
): SetListValue {
  const setBy = a.setBy ?? [];
  const items = [...listItems(a)];
  const places = new Map<string, number>();
  items.forEach((item, index) => {
    const key = itemKey(item, setBy);
    if (key !== undefined) places.set(key, index);
  });
  for (const item of listItems(b)) {
    const key = itemKey(item, setBy);
    const place =
      key === undefined ? items.findIndex((other) => equals(other, item)) : (places.get(key) ?? -1);
    if (place >= 0) {
      items[place] = item;
    } else {
      if (key !== undefined) places.set(key, items.length);
      items.push(item);
    }
  }
  return new SetListValue(items, setBy);
}

/** Reports whether two sets of the same size have equal items. */
export function sameItems(
  a: readonly unknown[] | ListValue,
  b: readonly unknown[] | ListValue,
  setBy: readonly string[],
  equals: (x: Value, y: Value) => boolean,
): boolean {
  const others = listItems(b);
  const byKey = new Map<string, Value>();
  for (const item of others) {
    const key = itemKey(item, setBy);
    if (key !== undefined) byKey.set(key, item);
  }
  return listItems(a).every((item) => {
    const key = itemKey(item, setBy);
    if (key === undefined) return others.some((other) => equals(item, other));
    return byKey.has(key) && equals(item, byKey.get(key));
  });
}
