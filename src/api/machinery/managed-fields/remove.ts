// Removes a set of fields from a value, or all other fields.

import { setOwn } from '#machinery/deep.ts';
import { FieldSet } from './field-set.ts';
import { itemElement } from './list-items.ts';
import { asList, asMap, isEmptyMap, shapeOf, type MergeType } from './merge-type.ts';
import { fieldElement, fieldNameOf, isKeyElement } from './path-element.ts';

/**
 * Returns the value without the members of the set. An atomic value is removed only as a whole, by
 * its own path. A container that becomes empty is null. Unchanged values are shared.
 */
export function removeItems(type: MergeType, value: unknown, items: FieldSet): unknown {
  if (items.isEmpty) return value;
  switch (shapeOf(type, value)) {
    case 'scalar':
      return value;
    case 'list': {
      const list = type.list!;
      const before = asList(value);
      if (before === undefined || list.atomic) return null;
      const after: unknown[] = [];
      for (const item of before) {
        const element = itemElement(list, item);
        const node = typeof element === 'string' ? items.node(element) : undefined;
        if (node?.member === true) continue;
        after.push(
          node?.children === undefined ? item : removeItems(list.items, item, node.children),
        );
      }
      return after.length === 0 ? null : after;
    }
    case 'map': {
      const map = type.map!;
      const before = asMap(value);
      if (before === undefined || map.atomic) return null;
      const after: Record<string, unknown> = {};
      for (const name of Object.keys(before)) {
        const field = map.fields.get(name);
        const node = items.node(field?.element ?? fieldElement(name));
        if (node?.member === true) continue;
        const itemType = field?.type ?? map.values;
        const inside = node?.children;
        setOwn(
          after,
          name,
          inside === undefined || itemType === undefined
            ? before[name]
            : removeItems(itemType, before[name], inside),
        );
      }
      return isEmptyMap(after) ? null : after;
    }
  }
}

/** Returns only the members of the set, and their containers. Undefined: nothing is left. */
export function extractItems(type: MergeType, value: unknown, items: FieldSet): unknown {
  switch (shapeOf(type, value)) {
    case 'scalar':
      return value;
    case 'list': {
      const list = type.list!;
      const before = asList(value);
      if (before === undefined || before.length === 0 || list.atomic) return before;
      const after: unknown[] = [];
      for (const item of before) {
        const element = itemElement(list, item);
        const node = typeof element === 'string' ? items.node(element) : undefined;
        if (node !== undefined)
          after.push(
            node.children === undefined ? item : extractItems(list.items, item, node.children),
          );
      }
      return after.length === 0 ? undefined : after;
    }
    case 'map': {
      const map = type.map!;
      const before = asMap(value);
      if (before === undefined || isEmptyMap(before) || map.atomic) return before;
      const after: Record<string, unknown> = {};
      for (const name of Object.keys(before)) {
        const field = map.fields.get(name);
        const itemType = field?.type ?? map.values;
        const node = items.node(field?.element ?? fieldElement(name));
        if (node === undefined || itemType === undefined) continue;
        const extracted =
          node.children === undefined
            ? ownOnly(itemType, before[name])
            : extractItems(itemType, before[name], node.children);
        if (extracted !== undefined) setOwn(after, name, extracted);
      }
      return isEmptyMap(after) ? undefined : after;
    }
  }
}

/**
 * Returns the value of a member without children: a manager that owns a granular container without
 * its content owns an empty one.
 */
function ownOnly(type: MergeType, value: unknown): unknown {
  const shape = shapeOf(type, value);
  if (shape === 'map' && type.map?.atomic === false && asMap(value) !== undefined) return {};
  if (shape === 'list' && type.list?.atomic === false && asList(value) !== undefined) return [];
  return value;
}

/**
 * Returns the set with the struct fields (not map entries) on the paths to its members as members.
 */
export function withNamedFields(type: MergeType | undefined, set: FieldSet): FieldSet {
  const result = FieldSet.building();
  for (const [element, { member, children }] of set.entries()) {
    const name = fieldNameOf(element);
    const field = name === undefined ? undefined : type?.map?.fields.get(name);
    const inside =
      name === undefined
        ? isKeyElement(element)
          ? type?.list?.items
          : undefined
        : (field?.type ?? type?.map?.values);
    result.put(
      element,
      member || (field !== undefined && children !== undefined),
      children === undefined ? undefined : withNamedFields(inside, children),
    );
  }
  return result;
}
