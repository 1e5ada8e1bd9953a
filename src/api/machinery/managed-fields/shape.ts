// The shape of a value: the names of its fields and the keys of its items, without other values.
// The shape determines which fields it has. Objects from one template have one shape, and are
// created by the thousand.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { MergeType } from './merge-type.ts';

/**
 * The longest text of a shape, in characters. Larger objects, such as configurations, rarely share
 * a shape.
 */
export const MAX_SHAPE = 8192;

/**
 * Returns the shape's text. Two values of a type with the same text have the same fields. They also
 * differ in the same fields from any third value whose leaves are all empty: '', 0, false, null,
 * '0', '0s', {} or []. A text longer than MAX_SHAPE is incomplete and must not be compared.
 */
export function shapeText(type: MergeType, value: unknown): string {
  if (typeof value !== 'object' || value === null) return leafText(value);
  if (Array.isArray(value)) {
    const { list } = type;
    if (list === undefined || list.atomic) return atomText(value);
    const { keys, items } = list;
    let text = '[';
    for (const item of value as readonly unknown[]) {
      if (keys.length === 0) text += stringifyJson(item);
      else {
        for (const key of keys)
          text += `${stringifyJson((item as Readonly<Record<string, unknown>> | null)?.[key])};`;
        text += shapeText(items, item);
      }
      text += ',';
      if (text.length > MAX_SHAPE) return text;
    }
    return `${text}]`;
  }
  const { map } = type;
  if (map === undefined || map.atomic) return atomText(value);
  const entries = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const name in entries) {
    const inside = entries[name];
    if (inside === undefined) continue;
    const field = map.fields.get(name);
    if (field !== undefined) text += `${name}:${shapeText(field.type, inside)},`;
    // A name may be any text, so its length precedes it.
    else if (map.values !== undefined)
      text += `${name.length}/${name}:${shapeText(map.values, inside)},`;
    if (text.length > MAX_SHAPE) return text;
  }
  return `{${text}}`;
}

/**
 * Reports whether two values of a type have the same shape text, with names in any order; computed
 * without the text. It may return false for equal shapes, never true for different ones.
 */
export function sameShape(type: MergeType, value: unknown, other: unknown): boolean {
  if (value === other) return true;
  if (!isObject(value) || !isObject(other)) {
    return !isObject(value) && !isObject(other) && !isZero(value) && !isZero(other);
  }
  if (Array.isArray(value) || Array.isArray(other)) {
    return Array.isArray(value) && Array.isArray(other) && sameList(type, value, other);
  }
  const { map } = type;
  if (map === undefined || map.atomic) return sameAtom(value, other);
  let more = 0;
  for (const name in value) {
    const fieldType = map.fields.get(name)?.type ?? map.values;
    if (value[name] === undefined || fieldType === undefined) continue;
    if (!Object.hasOwn(other, name) || other[name] === undefined) return false;
    if (!sameShape(fieldType, value[name], other[name])) return false;
    more++;
  }
  for (const name in other) {
    if (other[name] !== undefined && (map.values !== undefined || map.fields.has(name))) more--;
  }
  return more === 0;
}

function sameList(
  { list }: MergeType,
  value: readonly unknown[],
  other: readonly unknown[],
): boolean {
  if (list === undefined || list.atomic) return sameAtom(value, other);
  if (value.length !== other.length) return false;
  const { keys, items } = list;
  return value.every((item, index) => {
    const counterpart = other[index];
    if (keys.length === 0) return item === counterpart;
    if (!isObject(item) || !isObject(counterpart)) return false;
    return (
      keys.every((key) => item[key] === counterpart[key]) && sameShape(items, item, counterpart)
    );
  });
}

function sameAtom(value: object, other: object): boolean {
  return isBlank(value) || isBlank(other) ? stringifyJson(value) === stringifyJson(other) : true;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Returns the shape of an atomic value. */
function atomText(value: object): string {
  return isBlank(value) ? stringifyJson(value) : '_';
}

function isBlank(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isZero(value);
  for (const inside of Object.values(value)) if (!isBlank(inside)) return false;
  return true;
}

/** The leaves whose value is a part of the shape. */
const ZEROS: ReadonlySet<unknown> = new Set(['', 0, false, null, '0', '0s']);
/** The length above which a text is not looked up: that would hash it. */
const LONGEST_ZERO = 2;

function isZero(value: unknown): boolean {
  return (typeof value !== 'string' || value.length <= LONGEST_ZERO) && ZEROS.has(value);
}

function leafText(value: unknown): string {
  return isZero(value) ? stringifyJson(value) : '_';
}
