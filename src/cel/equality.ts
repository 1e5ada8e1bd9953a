// Equality and order across types: numbers compare by their value; values of other types are not
// equal.

import { noSuchOverload } from './errors.ts';
import { sameItems } from './set-lists.ts';
import { compareText } from './text.ts';
import {
  AbstractMap,
  adaptDynamic,
  CelObject,
  Double,
  Duration,
  isList,
  isMap,
  listItem,
  listSize,
  ListValue,
  mapGet,
  mapKeys,
  mapSize,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts';
import { WorkLimit } from './work-limit.ts';

/**
 * Returns -1, 0 or 1; undefined if a number is NaN. Integers compare exactly. As in cel-spec, an
 * integer and a double compare as doubles, unless the double is outside the integer type's range.
 */
function compareNumbers(
  a: number | bigint | Uint | Double,
  b: number | bigint | Uint | Double,
): -1 | 0 | 1 | undefined {
  const x = a instanceof Uint || a instanceof Double ? a.value : a;
  const y = b instanceof Uint || b instanceof Double ? b.value : b;
  if (a instanceof Double)
    return typeof y === 'bigint' ? order(a.value, Number(y)) : order(a.value, y);
  if (b instanceof Double)
    return typeof x === 'bigint' ? order(Number(x), b.value) : order(x, b.value);
  return order(x, y);
}

/** Compares two numbers. JavaScript compares bigints with numbers by their mathematical values. */
function order(x: number | bigint, y: number | bigint): -1 | 0 | 1 | undefined {
  if (x < y) return -1;
  if (x > y) return 1;
  return x >= y ? 0 : undefined;
}

const isNumber = (value: Value): value is number | bigint | Uint | Double =>
  typeof value === 'number' ||
  typeof value === 'bigint' ||
  value instanceof Double ||
  value instanceof Uint;

/**
 * Reports whether two values are equal. Throws EvaluationError if the comparison exceeds the limit.
 */
export function equals(a: Value, b: Value, limit?: WorkLimit): boolean {
  if (typeof a !== 'object' || a === null) {
    if (a === b) return true;
    // Each int has exactly one form, a number or a bigint.
    if (typeof b !== 'object' || b === null) return false;
    return isNumber(a) && isNumber(b) && compareNumbers(a, b) === 0;
  }
  if (typeof b !== 'object' || b === null)
    return isNumber(a) && isNumber(b) && compareNumbers(a, b) === 0;
  if (isList(a)) return isList(b) && listsEqual(a, b, limit ?? new WorkLimit());
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (isMap(a)) return isMap(b) && mapsEqual(a, b, limit ?? new WorkLimit());
  return b instanceof CelObject && objectsEqual(a as CelObject, b, limit);
}

const setByOf = (list: Parameters<typeof listSize>[0]): readonly string[] | undefined =>
  list instanceof ListValue ? list.setBy : undefined;

function listsEqual(
  a: Parameters<typeof listSize>[0],
  b: Parameters<typeof listSize>[0],
  limit: WorkLimit,
): boolean {
  const size = listSize(a);
  if (size !== listSize(b)) return false;
  const setBy = setByOf(a);
  if (setBy !== undefined) return sameItems(a, b, setBy, (x, y) => equals(x, y, limit));
  for (let index = 0; index < size; index++) {
    limit.part();
    if (!equals(listItem(a, index), listItem(b, index), limit)) return false;
  }
  return true;
}

function mapsEqual(
  a: Parameters<typeof mapSize>[0],
  b: Parameters<typeof mapSize>[0],
  limit: WorkLimit,
): boolean {
  if (a instanceof AbstractMap && b instanceof AbstractMap && a.isEqualTo !== undefined) {
    return a.isEqualTo(b, (x, y) => {
      limit.part();
      return equals(adaptDynamic(x), y, limit);
    });
  }
  if (mapSize(a) !== mapSize(b)) return false;
  for (const key of mapKeys(a)) {
    limit.part();
    const other = mapGet(b, key);
    if (other === undefined || !equals(adaptDynamic(mapGet(a, key)), other, limit)) return false;
  }
  return true;
}

function objectsEqual(a: CelObject, b: CelObject, limit: WorkLimit | undefined): boolean {
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanoseconds === b.nanoseconds;
  if (a instanceof Duration) return b instanceof Duration && a.nanoseconds === b.nanoseconds;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false;
    return a.hasValue && b.hasValue
      ? equals(a.value(), b.value(), limit)
      : a.hasValue === b.hasValue;
  }
  if (a instanceof OpaqueValue) return a.constructor === b.constructor && a.equals(b as typeof a);
  return a === b;
}

/**
 * Returns -1, 0 or 1; undefined if a value is NaN. Throws EvaluationError for values without an
 * order.
 */
export function compare(a: Value, b: Value): -1 | 0 | 1 | undefined {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return a === b ? 0 : a ? 1 : -1;
  if (
    (a instanceof Timestamp && b instanceof Timestamp) ||
    (a instanceof Duration && b instanceof Duration)
  ) {
    return a.nanoseconds < b.nanoseconds ? -1 : a.nanoseconds > b.nanoseconds ? 1 : 0;
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  throw noSuchOverload();
}
