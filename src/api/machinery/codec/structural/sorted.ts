// Objects with sorted keys. Upstream keeps custom resources as maps, which Go writes sorted by key.

import { setOwn } from '#machinery/deep.ts';
import { compareText } from '../../managed-fields/path-element.ts';

/** The number of keys up to which an insertion sort is fastest; most are nearly sorted. */
const FEW_KEYS = 20;

/** Returns the object's own keys in the order in which Go writes them. */
export function sortedKeys(object: Readonly<Record<string, unknown>>): string[] {
  const keys = Object.keys(object);
  if (keys.length > FEW_KEYS) return keys.sort(compareText);
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i]!;
    let at = i;
    for (; at > 0 && compareText(keys[at - 1]!, key) > 0; at--) keys[at] = keys[at - 1]!;
    keys[at] = key;
  }
  return keys;
}

/**
 * Sorts the keys of the object in place. Keys that look like array indices stay first, as always in
 * JavaScript.
 */
export function sortKeysInPlace(object: Record<string, unknown>): void {
  const entries = sortedKeys(object).map((key) => [key, object[key]] as const);
  for (const [key] of entries) delete object[key];
  for (const [key, value] of entries) setOwn(object, key, value);
}

/**
 * Returns a copy of a JSON value with sorted keys at every depth. Undefined values are left out.
 */
export function sortedCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value))
    return value.map((item: unknown) => (item === undefined ? null : sortedCopy(item)));
  const input = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  for (const key of sortedKeys(input))
    if (input[key] !== undefined) setOwn(copy, key, sortedCopy(input[key]));
  return copy;
}
