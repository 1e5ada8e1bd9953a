// Returns the fields that a value mentions: every scalar, atomic value, item and map entry. Structs
// are not members; only their fields are.

import { FieldSet } from './field-set.ts';
import { groupItems } from './list-items.ts';
import {
  asList,
  asMap,
  isEmptyMap,
  shapeOf,
  type ListShape,
  type MapShape,
  type MergeType,
} from './merge-type.ts';
import { fieldElement } from './path-element.ts';

export function toFieldSet(type: MergeType, value: unknown): FieldSet {
  return visit(type, value).children ?? FieldSet.empty;
}

interface Mention {
  readonly member: boolean;
  readonly children: FieldSet | undefined;
}

const MEMBER: Mention = { member: true, children: undefined };
const NOTHING: Mention = { member: false, children: undefined };

function visit(type: MergeType, value: unknown): Mention {
  switch (shapeOf(type, value)) {
    case 'scalar':
      return MEMBER;
    case 'list': {
      const list = type.list!;
      if (list.atomic) return MEMBER;
      const items = asList(value);
      return items === undefined ? NOTHING : { member: false, children: ofItems(list, items) };
    }
    case 'map': {
      const map = type.map!;
      if (map.atomic) return MEMBER;
      const entries = asMap(value);
      return entries === undefined ? NOTHING : { member: false, children: ofEntries(map, entries) };
    }
  }
}

function ofItems(list: ListShape, items: readonly unknown[]): FieldSet {
  const set = FieldSet.building();
  for (const [element, group] of groupItems(list, items)) {
    // Fields of items without distinct keys cannot be owned.
    set.put(element, true, group.length > 1 ? undefined : visit(list.items, group[0]).children);
  }
  return set;
}

function ofEntries(map: MapShape, entries: Readonly<Record<string, unknown>>): FieldSet {
  const set = FieldSet.building();
  for (const name of Object.keys(entries)) {
    const value = entries[name];
    if (value === undefined) continue;
    const field = map.fields.get(name);
    const type = field?.type ?? map.values;
    if (type === undefined) continue;
    const { member, children } = visit(type, value);
    const object = asMap(value);
    const nothingInside = value === null || (object !== undefined && isEmptyMap(object));
    set.put(
      field?.element ?? fieldElement(name),
      member || nothingInside || field === undefined,
      children,
    );
  }
  return set;
}
