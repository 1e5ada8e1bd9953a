// Items of lists with keys (x-kubernetes-list-type: map).

import { stringifyJson } from '#machinery/text/json-integers.ts';
import { getOwn, isPlainObject } from '#machinery/deep.ts';
import type { StructuralSchema } from './structural-schema.ts';

/** Reports whether items of an old and a new list can be matched by keys. */
export function hasKeys({ type, listType, listMapKeys }: StructuralSchema): boolean {
  return type === 'array' && listType === 'map' && listMapKeys.length > 0;
}

/** Returns the key of an item; undefined if a part is missing or no scalar. */
export function itemKey(schema: StructuralSchema, item: unknown): string | undefined {
  if (!isPlainObject(item)) return undefined;
  const values = schema.listMapKeys.map((name) => getOwn(item, name));
  if (values.some((value) => value === undefined || value === null || typeof value === 'object'))
    return undefined;
  return stringifyJson(values);
}

/** Returns the items by their keys; of several with the same key, the first. */
export function itemsByKey(
  schema: StructuralSchema,
  list: readonly unknown[],
): ReadonlyMap<string, unknown> {
  const byKey = new Map<string, unknown>();
  for (const item of list) {
    const key = itemKey(schema, item);
    if (key !== undefined && !byKey.has(key)) byKey.set(key, item);
  }
  return byKey;
}
