// Lists whose items must be unique: sets (x-kubernetes-list-type: set), and lists with keys (map).

import { getOwn, isPlainObject, setOwn, stableStringify } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { anywhere } from './schema-predicate.ts';
import { schemaOfField, type StructuralSchema } from './structural-schema.ts';

const hasUniqueLists = anywhere(({ listType }) => listType === 'set' || listType === 'map');

/**
 * Returns errors for duplicate items in the object's lists. `at`: the object's path; undefined for
 * a whole object.
 */
export function validateLists(
  schema: StructuralSchema,
  object: unknown,
  at?: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (hasUniqueLists(schema)) validateValue(schema, object, at, errors);
  return errors;
}

function validateValue(
  schema: StructuralSchema,
  value: unknown,
  at: FieldPath | undefined,
  errors: FieldErrorList,
): void {
  if (Array.isArray(value)) {
    // A list is never a whole object.
    if (at !== undefined) validateList(schema, value, at, errors);
    return;
  }
  if (!isPlainObject(value)) return;
  for (const [name, item] of Object.entries(value)) {
    const inside = schemaOfField(schema, name);
    if (inside === undefined || !hasUniqueLists(inside)) continue;
    validateValue(inside, item, childPath(schema, name, at), errors);
  }
}

function validateList(
  schema: StructuralSchema,
  list: readonly unknown[],
  at: FieldPath,
  errors: FieldErrorList,
): void {
  if (schema.listType === 'set') {
    for (const index of repeated(list)) errors.push(field.duplicate(at.index(index), list[index]));
  } else if (schema.listType === 'map') errors.push(...validateKeys(schema, list, at));
  const { items } = schema;
  if (items === undefined || !hasUniqueLists(items)) return;
  list.forEach((item, index) => validateValue(items, item, at.index(index), errors));
}

function validateKeys(
  schema: StructuralSchema,
  list: readonly unknown[],
  at: FieldPath,
): FieldErrorList {
  const invalidIndex = list.findIndex((item) => item !== null && !isPlainObject(item));
  if (invalidIndex >= 0) {
    return [
      field.invalid(
        at.index(invalidIndex),
        list[invalidIndex],
        'must be an object for an array of list-type map',
      ),
    ];
  }
  const keys = list.map((item) => keysOf(schema.listMapKeys, item));
  return repeated(keys).map((index) => field.duplicate(at.index(index), keys[index]));
}

/** Returns the item's keys only; a missing key is left out. */
function keysOf(names: readonly string[], item: unknown): Record<string, unknown> {
  const keys: Record<string, unknown> = {};
  if (!isPlainObject(item)) return keys;
  for (const name of names) if (Object.hasOwn(item, name)) setOwn(keys, name, getOwn(item, name));
  return keys;
}

/** Returns the indices at which a value occurs for the second time. */
function repeated(values: readonly unknown[]): number[] {
  const times = new Map<string, number>();
  const indices: number[] = [];
  values.forEach((value, index) => {
    const text = stableStringify(value);
    const seen = (times.get(text) ?? 0) + 1;
    times.set(text, seen);
    if (seen === 2) indices.push(index);
  });
  return indices;
}

/** Returns the path to a field of an object: properties are fields, all others are map entries. */
export function childPath(
  schema: StructuralSchema,
  name: string,
  at: FieldPath | undefined,
): FieldPath {
  if (schema.properties.has(name)) return at === undefined ? field.path(name) : at.child(name);
  return (at ?? field.path('')).key(name);
}
