// Compares two states of an object. The differences are sets of fields.

import { deepEqual } from '#machinery/deep.ts';
import { FieldSet, type FieldNode } from './field-set.ts';
import { groupItems } from './list-items.ts';
import {
  asList,
  asMap,
  isEmptyMap,
  shapeOf,
  type ListShape,
  type MapShape,
  type MergeType,
  type Shape,
} from './merge-type.ts';
import { fieldElement, type PathElement } from './path-element.ts';

export interface Comparison {
  readonly added: FieldSet;
  /** Fields in both states with different values. */
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/**
 * Compares two states. Fields in `except` are ignored with everything below them. Neither value is
 * undefined; null is a value.
 */
export function compare(
  type: MergeType,
  before: unknown,
  after: unknown,
  except: FieldSet = FieldSet.empty,
): Comparison {
  const root = new Place(undefined, '');
  compareValues(root, '', type, before, after, except);
  // `everything` does not check exceptions in values that are in one state only.
  return {
    added: (root.added ?? FieldSet.empty).recursiveDifference(except),
    modified: root.modified ?? FieldSet.empty,
    removed: (root.removed ?? FieldSet.empty).recursiveDifference(except),
  };
}

/**
 * A container that is being compared. Its sets of differences, and those of the enclosing
 * containers, are created for the first difference.
 */
class Place {
  readonly #parent: Place | undefined;
  readonly #element: PathElement;
  added: FieldSet | undefined;
  modified: FieldSet | undefined;
  removed: FieldSet | undefined;

  constructor(parent: Place | undefined, element: PathElement) {
    this.#parent = parent;
    this.#element = element;
  }

  /** Reports a difference. `node`: the difference at the element, and below it. */
  report(
    difference: keyof Comparison,
    element: PathElement,
    node: Pick<FieldNode, 'member' | 'children'>,
  ): void {
    const set = this.#setOf(difference);
    const existing = set.node(element);
    if (existing === undefined) set.put(element, node.member, node.children);
    else set.put(element, existing.member || node.member, union(existing.children, node.children));
  }

  #setOf(difference: keyof Comparison): FieldSet {
    let set = this[difference];
    if (set === undefined) {
      set = FieldSet.building();
      this[difference] = set;
    }
    return set;
  }

  /**
   * Ends the comparison of the container: its differences are reported to the enclosing container.
   */
  close(): void {
    for (const difference of DIFFERENCES) {
      const children = this[difference];
      if (children !== undefined)
        this.#parent?.report(difference, this.#element, { member: false, children });
    }
  }

  within(element: PathElement): Place {
    return new Place(this, element);
  }
}

const DIFFERENCES = ['added', 'modified', 'removed'] as const;
const MEMBER = { member: true, children: undefined };

function union(a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined {
  return a === undefined ? b : b === undefined ? a : a.union(b);
}

/**
 * Compares two values. The whole object has no element; it never differs as a whole, only in its
 * fields.
 */
function compareValues(
  place: Place,
  element: PathElement,
  type: MergeType,
  before: unknown,
  after: unknown,
  except: FieldSet,
): void {
  if (before === after) return;
  if (before === undefined) return place.report('added', element, everything(type, after));
  if (after === undefined) return place.report('removed', element, everything(type, before));
  const shape = shapeOf(type, after);
  const shapeBefore = shapeOf(type, before);
  if (shape !== shapeBefore) compareAs(shapeBefore, place, element, type, before, after, except);
  compareAs(shape, place, element, type, before, after, except);
}

function compareAs(
  shape: Shape,
  place: Place,
  element: PathElement,
  type: MergeType,
  before: unknown,
  after: unknown,
  except: FieldSet,
): void {
  switch (shape) {
    case 'scalar':
      return compareLeaves(place, element, before, after);
    case 'list': {
      const list = type.list!;
      const a = asList(before) ?? [];
      const b = asList(after) ?? [];
      if (list.atomic || (a.length === 0 && b.length === 0))
        return compareLeaves(place, element, before, after);
      const inside = place.within(element);
      compareItems(inside, list, a, b);
      return inside.close();
    }
    case 'map': {
      const map = type.map!;
      const a = asMap(before) ?? {};
      const b = asMap(after) ?? {};
      if (map.atomic || (isEmptyMap(a) && isEmptyMap(b)))
        return compareLeaves(place, element, before, after);
      if (element === '') return compareEntries(place, map, a, b, except);
      const inside = place.within(element);
      compareEntries(inside, map, a, b, except);
      return inside.close();
    }
  }
}

function compareLeaves(place: Place, element: PathElement, before: unknown, after: unknown): void {
  if (!deepEqual(before, after)) place.report('modified', element, MEMBER);
}

function compareEntries(
  place: Place,
  map: MapShape,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  except: FieldSet,
): void {
  const compareEntry = (name: string, a: unknown, b: unknown): void => {
    if (a === b) return;
    const field = map.fields.get(name);
    const type = field?.type ?? map.values;
    if (type === undefined) return;
    const element = field?.element ?? fieldElement(name);
    if (except.isEmpty) return compareValues(place, element, type, a, b, except);
    const excepted = except.node(element);
    if (excepted?.member === true) return;
    compareValues(place, element, type, a, b, excepted?.children ?? FieldSet.empty);
  };
  const names = Object.keys(after);
  let shared = 0;
  for (const name of Object.keys(before)) {
    const isShared = Object.hasOwn(after, name);
    if (isShared) shared++;
    compareEntry(name, before[name], isShared ? after[name] : undefined);
  }
  if (shared === names.length) return;
  for (const name of names)
    if (!Object.hasOwn(before, name)) compareEntry(name, undefined, after[name]);
}

function compareItems(
  place: Place,
  list: ListShape,
  before: readonly unknown[],
  after: readonly unknown[],
): void {
  const groupsBefore = groupItems(list, before);
  const groupsAfter = groupItems(list, after);
  for (const [element, a] of groupsBefore)
    compareGroup(place, list, element, a, groupsAfter.get(element) ?? []);
  for (const [element, b] of groupsAfter)
    if (!groupsBefore.has(element)) compareGroup(place, list, element, [], b);
}

/** Compares items without distinct keys as one atomic value. */
function compareGroup(
  place: Place,
  list: ListShape,
  element: PathElement,
  before: readonly unknown[],
  after: readonly unknown[],
): void {
  if (before.length <= 1 && after.length <= 1) {
    return compareValues(place, element, list.items, before[0], after[0], FieldSet.empty);
  }
  if (before.length >= 2 && after.length >= 2) return compareLeaves(place, element, before, after);
  if (before.length >= 2) {
    if (after.length === 1) place.report('added', element, everything(list.items, after[0]));
    return place.report('removed', element, MEMBER);
  }
  if (before.length === 1) place.report('removed', element, everything(list.items, before[0]));
  place.report('added', element, MEMBER);
}

/** Returns all fields of a value in one of the states only, with the value itself. */
function everything(type: MergeType, value: unknown): FieldNode {
  switch (shapeOf(type, value)) {
    case 'scalar':
      return MEMBER;
    case 'list': {
      const list = type.list!;
      const items = asList(value);
      if (list.atomic || items === undefined || items.length === 0) return MEMBER;
      const children = FieldSet.building();
      for (const [element, group] of groupItems(list, items)) {
        children.put(
          element,
          true,
          group.length > 1 ? undefined : everything(list.items, group[0]).children,
        );
      }
      return { member: true, children };
    }
    case 'map': {
      const map = type.map!;
      const entries = asMap(value);
      if (map.atomic || entries === undefined || isEmptyMap(entries)) return MEMBER;
      const children = FieldSet.building();
      for (const name of Object.keys(entries)) {
        const field = map.fields.get(name);
        const itemType = field?.type ?? map.values;
        if (itemType === undefined || entries[name] === undefined) continue;
        children.put(
          field?.element ?? fieldElement(name),
          true,
          everything(itemType, entries[name]).children,
        );
      }
      return { member: true, children };
    }
  }
}
