// The keys of the items of a granular list.

import { quote } from '#machinery/text/go-format.ts';
import { runSteps, type Steps } from '#machinery/turn.ts';
import { asList, asMap, type ListShape, type MergeType } from './merge-type.ts';
import { keyElement, valueElement, type PathElement } from './path-element.ts';

/** Returns the item's path element, or an error text. */
export function itemElement(
  list: ListShape,
  item: unknown,
): PathElement | { readonly problem: string } {
  if (list.keys.length === 0) return setItemElement(item);
  if (item === null || item === undefined)
    return { problem: 'associative list with keys may not have a null element' };
  const map = asMap(item);
  if (map === undefined)
    return { problem: 'associative list with keys may not have non-map elements' };
  const { keys } = list;
  if (keys.length === 1) {
    const key = keys[0]!;
    const value = keyValue(list, map, key);
    return value === undefined ? omits(keys) : keyElement([[key, value]]);
  }
  const fields: [string, unknown][] = [];
  for (const key of keys) {
    const value = keyValue(list, map, key);
    // An item without the key differs from items with any value of it.
    if (value !== undefined) fields.push([key, value]);
  }
  return fields.length === 0 ? omits(keys) : keyElement(fields);
}

function keyValue(list: ListShape, item: Readonly<Record<string, unknown>>, key: string): unknown {
  const value = Object.hasOwn(item, key) ? item[key] : undefined;
  return value === undefined ? list.items.map?.fields.get(key)?.keyDefault : value;
}

function omits(keys: readonly string[]): { problem: string } {
  const names = keys.map(quote).join(' ');
  return {
    problem:
      `associative list with keys has an element that omits all key fields [${names}] (and ` +
      "doesn't have default values for any key fields)",
  };
}

function setItemElement(item: unknown): PathElement | { problem: string } {
  if (Array.isArray(item))
    return { problem: 'not supported: associative list with lists as elements' };
  if (item === null || item === undefined) {
    return { problem: "associative list without keys has an element that's an explicit null" };
  }
  if (typeof item === 'object')
    return { problem: "associative list without keys has an element that's a map type" };
  return valueElement(item);
}

/** Items by their path element, in order. An element may have several items. */
export type ItemGroups = ReadonlyMap<PathElement, readonly unknown[]>;

/** The number of items from which on a list is grouped once and in steps, and that of a step. */
const LARGE_LIST = 4096;

/** The groups of large lists, which are immutable. */
const largeGroups = new WeakMap<readonly unknown[], { list: ListShape; groups: ItemGroups }>();

/** Groups items by their path element. Items without one are left out. */
export function groupItems(list: ListShape, items: readonly unknown[]): ItemGroups {
  const cached = largeGroups.get(items);
  return cached?.list === list ? cached.groups : runSteps(groupInSteps(list, items));
}

function* groupInSteps(list: ListShape, items: readonly unknown[]): Steps<ItemGroups> {
  const groups = new Map<PathElement, unknown[]>();
  for (let i = 0; i < items.length; i++) {
    if (i > 0 && i % LARGE_LIST === 0) yield;
    const item = items[i];
    const element = itemElement(list, item);
    if (typeof element !== 'string') continue;
    const group = groups.get(element);
    if (group === undefined) groups.set(element, [item]);
    else group.push(item);
  }
  return groups;
}

/**
 * Groups the large lists of a value in steps, except those within another large list. `groupItems`
 * returns these groups as long as the lists live.
 */
export function* groupLargeLists(type: MergeType, value: unknown): Steps<void> {
  const items = asList(value);
  if (items !== undefined) {
    const { list } = type;
    if (list === undefined || list.atomic) return;
    if (items.length < LARGE_LIST) {
      for (const item of items) yield* groupLargeLists(list.items, item);
      return;
    }
    largeGroups.set(items, { list, groups: yield* groupInSteps(list, items) });
    yield;
    return;
  }
  const { map } = type;
  if (map === undefined || map.atomic) return;
  const fields = asMap(value) ?? {};
  for (const [name, field] of map.fields)
    if (Object.hasOwn(fields, name)) yield* groupLargeLists(field.type, fields[name]);
}
