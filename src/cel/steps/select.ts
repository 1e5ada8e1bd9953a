// Selects a field or an item of any value, also with a question mark.

import { noSuchKey, noSuchOverload } from '../errors.ts';
import {
  AbstractMap,
  adaptDynamic,
  CelObject,
  isList,
  isMap,
  listItem,
  listSize,
  mapGet,
  Optional,
  type Value,
} from '../values.ts';

export function selectField(operand: Value, field: string): Value {
  if (typeof operand !== 'object' || operand === null) throw noSuchKey(field);
  if (operand instanceof CelObject) {
    if (operand instanceof Optional) return selectOptional(operand, field);
    if (!(operand instanceof AbstractMap)) throw noSuchOverload();
    const value = operand.get(field);
    if (value === undefined) throw noSuchKey(field);
    return value;
  }
  if (Array.isArray(operand) || operand instanceof Uint8Array) throw noSuchOverload();
  const value = Object.hasOwn(operand, field)
    ? (operand as Record<string, unknown>)[field]
    : undefined;
  if (typeof value === 'number') return adaptDynamic(value);
  if (value === undefined) throw noSuchKey(field);
  return value;
}

/** Reports whether the operand has the field. Null and other values without fields have none. */
export function hasField(operand: Value, field: string): boolean {
  if (operand instanceof Optional) return operand.hasValue && hasField(operand.value(), field);
  if (isList(operand)) throw noSuchOverload();
  if (!isMap(operand)) return false;
  return operand instanceof AbstractMap ? operand.has(field) : mapGet(operand, field) !== undefined;
}

export function selectOptional(operand: Value, field: string): Optional {
  if (operand instanceof Optional)
    return operand.hasValue ? selectOptional(operand.value(), field) : operand;
  if (!hasField(operand, field) || !isMap(operand)) return Optional.none;
  return new Optional(mapGet(operand, field));
}

export function indexOptional(operand: Value, index: Value): Optional {
  if (operand instanceof Optional)
    return operand.hasValue ? indexOptional(operand.value(), index) : operand;
  if (isMap(operand)) {
    const value = mapGet(operand, index);
    return value === undefined ? Optional.none : new Optional(value);
  }
  if (!isList(operand)) throw noSuchOverload();
  if (typeof index !== 'number' || index < 0 || index >= listSize(operand)) return Optional.none;
  return new Optional(listItem(operand, index));
}
