// Merges an applied object into the stored one. Nothing is removed: where both have a value the
// applied one wins, by item and by field where the type is granular. The inputs are not modified;
// the result shares unchanged parts.

import { setOwn } from '#machinery/deep.ts';
import { itemElement } from './list-items.ts';
import {
  asList,
  asMap,
  isEmptyMap,
  shapeOf,
  type ListShape,
  type MapShape,
  type MergeType,
} from './merge-type.ts';
import type { PathElement } from './path-element.ts';

/**
 * Returns the merged value. `undefined` is absent; null is a value, which clears a scalar and
 * leaves granular containers unchanged.
 */
export function merge(type: MergeType, live: unknown, applied: unknown): unknown {
  if (applied === undefined || live === applied) return live;
  if (live === undefined) return applied;
  switch (shapeOf(type, applied)) {
    case 'scalar':
      return applied;
    case 'list': {
      const list = type.list!;
      const a = asList(live) ?? [];
      const b = asList(applied) ?? [];
      return list.atomic || (a.length === 0 && b.length === 0) ? applied : mergeItems(list, a, b);
    }
    case 'map': {
      const map = type.map!;
      const a = asMap(live) ?? {};
      const b = asMap(applied) ?? {};
      return map.atomic || (isEmptyMap(a) && isEmptyMap(b)) ? applied : mergeEntries(map, a, b);
    }
  }
}

function mergeEntries(
  map: MapShape,
  live: Readonly<Record<string, unknown>>,
  applied: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const merged: Record<string, unknown> = {};
  const names = Object.keys(applied);
  let shared = 0;
  for (const name of Object.keys(live)) {
    const type = map.fields.get(name)?.type ?? map.values;
    const isShared = Object.hasOwn(applied, name);
    if (isShared) shared++;
    const other = isShared ? applied[name] : undefined;
    setOwn(merged, name, type === undefined ? live[name] : merge(type, live[name], other));
  }
  if (shared === names.length) return merged;
  for (const name of names) if (!Object.hasOwn(live, name)) setOwn(merged, name, applied[name]);
  return merged;
}

interface Item {
  readonly element: PathElement;
  readonly value: unknown;
}

/**
 * Merges lists. The applied items are in their applied order; each item that only the live object
 * has stays after the items that preceded it.
 */
function mergeItems(
  list: ListShape,
  live: readonly unknown[],
  applied: readonly unknown[],
): readonly unknown[] {
  const liveItems = itemsOf(list, live);
  const appliedItems = itemsOf(list, applied);
  const liveByElement = new Map<PathElement, unknown>();
  for (const { element, value } of liveItems) {
    // Items without distinct keys are replaced as a whole, not merged.
    liveByElement.set(element, liveByElement.has(element) ? null : value);
  }
  const appliedByElement = new Map(appliedItems.map(({ element, value }) => [element, value]));
  // The elements of both lists, in applied order: a live item comes after those before it.
  const shared = appliedItems
    .filter(({ element }) => liveByElement.has(element))
    .map(({ element }) => element);
  let nextShared = shared.shift();
  const merged: unknown[] = [];
  const taken = new Set<PathElement>();
  const take = ({ element }: Item): void => {
    taken.add(element);
    merged.push(merge(list.items, liveByElement.get(element), appliedByElement.get(element)));
  };

  let l = 0;
  let a = 0;
  while (l < liveItems.length || a < appliedItems.length) {
    const liveItem = liveItems[l];
    const appliedItem = appliedItems[a];
    if (liveItem !== undefined && appliedItem !== undefined) {
      if (liveItem.element === appliedItem.element) {
        take(appliedItem);
        l++;
        a++;
        nextShared = shared.shift();
        continue;
      }
      if (
        appliedByElement.has(liveItem.element) &&
        nextShared !== undefined &&
        nextShared !== liveItem.element
      ) {
        l++;
        continue;
      }
    }
    if (liveItem !== undefined) {
      if (!appliedByElement.has(liveItem.element)) {
        merged.push(liveItem.value);
        l++;
        continue;
      }
      if (taken.has(liveItem.element)) l++;
    }
    if (appliedItem !== undefined) {
      take(appliedItem);
      a++;
      if (nextShared === appliedItem.element) nextShared = shared.shift();
    }
  }
  return merged;
}

function itemsOf(list: ListShape, values: readonly unknown[]): Item[] {
  const items: Item[] = [];
  for (const value of values) {
    const element = itemElement(list, value);
    if (typeof element === 'string') items.push({ element, value });
  }
  return items;
}
