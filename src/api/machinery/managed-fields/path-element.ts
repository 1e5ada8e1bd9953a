// One step of a field's path, in the form of FieldsV1, always as canonical text, so that equal
// steps are equal strings:
//   f:replicas                      a field of a struct or an entry of a map
//   k:{"name":"web"}                the list item with these keys (sorted by name)
//   v:"a"                           an item of a set
//   i:0                             an item of a list without keys (accepted, but never created)

import { quote } from '#machinery/text/go-format.ts';
import { JsonError, parseJson } from '#machinery/text/json.ts';
import { isPlainObject, stableStringify } from '#machinery/deep.ts';

/** A path element in the form described above. */
export type PathElement = string;

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** Returns a key element. `fields`: names and values of the keys, in any order. */
export function keyElement(
  fields: readonly (readonly [name: string, value: unknown])[],
): PathElement {
  const [first] = fields;
  if (fields.length === 1 && first !== undefined) return singleKey(first[0], first[1]);
  const sorted = fields.toSorted(([a], [b]) => compareText(a, b));
  return `k:{${sorted.map(([name, value]) => `${canonicalName(name)}:${canonicalValue(value)}`).join(',')}}`;
}

function singleKey(name: string, value: unknown): PathElement {
  return `k:{${canonicalName(name)}:${canonicalValue(value)}}`;
}

export function valueElement(value: unknown): PathElement {
  return `v:${canonicalValue(value)}`;
}

export function indexElement(index: number): PathElement {
  return `i:${index}`;
}

/** Returns the name of a field element; undefined for other elements. */
export function fieldNameOf(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

export function isKeyElement(element: PathElement): boolean {
  return element.startsWith('k:');
}

/** The text is not a path element. */
export class PathElementError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PathElementError';
  }
}

/**
 * Recently parsed elements with JSON in them: the same few occur again and again (containers,
 * conditions).
 */
const readLately = new Map<string, PathElement>();
const MAX_READ_LATELY = 4096;

/**
 * Parses a key of a FieldsV1 object. Returns undefined for an unknown type of element, which a
 * later version may define. Throws PathElementError.
 */
export function parsePathElement(text: string): PathElement | undefined {
  if (text.startsWith('f:')) return text;
  const cached = readLately.get(text);
  if (cached !== undefined) return cached;
  const element = readElement(text);
  if (element === undefined) return undefined;
  if (readLately.size >= MAX_READ_LATELY) readLately.clear();
  readLately.set(text, element);
  return element;
}

function readElement(text: string): PathElement | undefined {
  if (text.length < 2) throw new PathElementError('key must be 2 characters long:');
  if (text[1] !== ':') throw new PathElementError(`missing colon: ${text}`);
  switch (text[0]) {
    case 'v':
      return valueElement(parsed(text));
    case 'k': {
      const keys = parsed(text);
      if (!isPlainObject(keys)) throw new PathElementError(`expected an object: ${text}`);
      return keyElement(Object.entries(keys));
    }
    case 'i': {
      if (!/^[+-]?[0-9]+$/.test(text.slice(2)))
        throw new PathElementError(`parsing ${quote(text.slice(2))}: invalid syntax`);
      const index = Number(text.slice(2));
      if (!Number.isSafeInteger(index))
        throw new PathElementError(`parsing ${quote(text.slice(2))}: value out of range`);
      return indexElement(index);
    }
    default:
      return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text.slice(2), { bigints: true });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new PathElementError(error.message);
  }
}

/** Returns an element in the form of messages: `.spec`, `[name="web"]`, `[="a"]`, `[0]`. */
export function describeElement(element: PathElement): string {
  const content = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${content}`;
    case 'k':
      return `[${Object.entries(parsed(element) as object)
        .map(([name, value]) => `${name}=${describeValue(value)}`)
        .join(',')}]`;
    case 'v':
      return `[=${describeValue(parsed(element))}]`;
    default:
      return `[${content}]`;
  }
}

/** Returns a path in the form of messages: `.spec.template.spec.containers[name="web"].image` */
export function describePath(path: readonly PathElement[]): string {
  return path.map(describeElement).join('');
}

function describeValue(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (value === null) return 'null';
  if (Array.isArray(value)) return `[${value.map(describeValue).join(',')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .toSorted(([a], [b]) => compareText(a, b))
      .map(([name, item]) => `${name}=${describeValue(item)}`)
      .join(';')}}`;
  }
  return String(value);
}

/** Reports whether the element is a field whose text JavaScript compares as Go does. */
function isPlainField(element: PathElement): boolean {
  return element.startsWith('f:') && !/[\ud800-\uffff]/.test(element);
}

/**
 * The text of a single key with a text value. It sorts correctly as it is, because the quote after
 * a text precedes all characters within it.
 */
const PLAIN_KEY = /^k:\{"[A-Za-z]+":"[#-[\]-~]*"\}$/;

function isPlainKey(element: PathElement): boolean {
  return PLAIN_KEY.test(element);
}

/**
 * The text of a text value without escapes. Its content sorts as Go sorts it, but not the text: the
 * quote at the end follows a space and `!`.
 */
const PLAIN_VALUE = /^v:"[ !#-[\]-~]*"$/;

function isPlainValue(element: PathElement): boolean {
  return PLAIN_VALUE.test(element);
}

const KIND_ORDER: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

/** Sorts in place, in the order of FieldsV1: fields by name, then keys, values, indices. */
export function sortElements(elements: PathElement[]): PathElement[] {
  if (elements.every(isPlainField) || elements.every(isPlainKey)) return elements.sort();
  if (elements.every(isPlainValue)) {
    const contents = elements.map((element) => element.slice(3, -1)).sort();
    for (const [index, content] of contents.entries()) elements[index] = `v:"${content}"`;
    return elements;
  }
  const sortable = elements.map((element) => ({
    element,
    content: element.startsWith('f:') ? element : parsed(element),
  }));
  sortable.sort((a, b) => {
    const kinds = (KIND_ORDER[a.element.charAt(0)] ?? 0) - (KIND_ORDER[b.element.charAt(0)] ?? 0);
    if (kinds !== 0) return kinds;
    return isKeyElement(a.element)
      ? compareKeys(
          a.content as Readonly<Record<string, unknown>>,
          b.content as Readonly<Record<string, unknown>>,
        )
      : compareValues(a.content, b.content);
  });
  sortable.forEach(({ element }, index) => (elements[index] = element));
  return elements;
}

function compareKeys(
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
): number {
  const names = Object.keys(a);
  const others = Object.keys(b);
  for (let i = 0; i < names.length && i < others.length; i++) {
    const name = names[i]!;
    const other = others[i]!;
    const order = compareText(name, other) || compareValues(a[name], b[other]);
    if (order !== 0) return order;
  }
  return names.length - others.length;
}

/** Compares values: numbers before texts before booleans before others. */
function compareValues(a: unknown, b: unknown): number {
  const kinds = valueOrder(a) - valueOrder(b);
  if (kinds !== 0) return kinds;
  if (typeof a === 'number' || typeof a === 'bigint')
    return a < (b as number) ? -1 : a > (b as number) ? 1 : 0;
  if (typeof a === 'string') return compareText(a, b as string);
  if (typeof a === 'boolean') return Number(a) - Number(b);
  return compareText(stableStringify(a), stableStringify(b));
}

function valueOrder(value: unknown): number {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return 0;
    case 'string':
      return 1;
    case 'boolean':
      return 2;
    default:
      return Array.isArray(value) ? 3 : value === null ? 5 : 4;
  }
}

/** Compares by code point, as Go compares strings. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates are parts of code points beyond all other units.
    const xSurrogate = x >= 0xd800 && x <= 0xdfff;
    const ySurrogate = y >= 0xd800 && y <= 0xdfff;
    return xSurrogate === ySurrogate ? x - y : xSurrogate ? 1 : -1;
  }
  return a.length - b.length;
}

/** Text that JSON writes unchanged. */
const PLAIN_TEXT = /^[ !#-%'-;=?-[\]-~]*$/;

function canonicalName(name: string): string {
  return PLAIN_TEXT.test(name) ? `"${name}"` : JSON.stringify(name);
}

/** Returns JSON as Go writes it, with <, > and & escaped and with sorted keys. */
function canonicalValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return PLAIN_TEXT.test(value) ? `"${value}"` : escaped(JSON.stringify(value));
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      break;
  }
  if (Array.isArray(value)) return `[${value.map(canonicalValue).join(',')}]`;
  if (value === null || value === undefined) return 'null';
  return `{${Object.entries(value)
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([name, item]) => `${canonicalValue(name)}:${canonicalValue(item)}`)
    .join(',')}}`;
}

function escaped(json: string): string {
  return json.replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
