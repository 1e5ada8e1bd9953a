// Functions of text beyond the standard library: charAt, indexOf, join, split, replace, substring,
// trim, format … Indices count code points.

import { quote } from '#machinery/text/go-format.ts';
import { rewritesFirst, sizeOf, traversal, traversesDeeply, traversesFirst } from '../cost.ts';
import { global, member, type CallCost, type Library } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import { CodePoints } from '../text.ts';
import { DYN, INT, list, STRING } from '../types.ts';
import { listItems, runtimeTypeName, type ListValue, type Value } from '../values.ts';
import { checkTextLength } from '../work-limit.ts';
import { formatText } from './format-text.ts';

type Int = number | bigint;
type Texts = readonly unknown[] | ListValue;

const outOfRange = (index: Int): Error => evaluationError(`index out of range: ${index}`);

/** Returns an index from 0 to `length`, both included. Throws EvaluationError for any other. */
function within(index: Int, length: number): number {
  if (index < 0 || index > length) throw outOfRange(index);
  return Number(index);
}

function charAt(text: string, index: Int): string {
  const points = new CodePoints(text);
  const at = within(index, points.length);
  return points.slice(at, at + 1);
}

function indexOf(text: string, part: string, from: Int = 0): number {
  const points = new CodePoints(text);
  // An empty text occurs at every index.
  if (part === '') return Number(from);
  return points.fromUnits(text.indexOf(part, points.toUnits(within(from, points.length))));
}

function lastIndexOf(text: string, part: string, from?: Int): number {
  const points = new CodePoints(text);
  if (from === undefined)
    return part === '' ? points.length : points.fromUnits(text.lastIndexOf(part));
  if (part === '') return Number(from);
  return points.fromUnits(text.lastIndexOf(part, points.toUnits(within(from, points.length))));
}

const replace = (text: string, old: string, by: string, count: Int = -1): string =>
  replaceFirst(text, old, by, count < 0 ? Infinity : Number(count));

/**
 * Replaces the first `count` occurrences. An empty text occurs before each character and at the
 * end.
 */
function replaceFirst(text: string, old: string, by: string, count: number): string {
  const parts = old === '' ? [...text] : text.split(old);
  const occurrences = old === '' ? parts.length + 1 : parts.length - 1;
  const replaced = Math.min(occurrences, count);
  checkTextLength(text.length + replaced * (by.length - old.length));
  if (old === '') {
    const characters = parts.map((character, index) =>
      index < replaced ? by + character : character,
    );
    return characters.join('') + (replaced > parts.length ? by : '');
  }
  return (
    parts.slice(0, replaced + 1).join(by) +
    parts
      .slice(replaced + 1)
      .map((part) => old + part)
      .join('')
  );
}

function split(text: string, separator: string, limit: Int = -1): string[] {
  if (limit === 0) return [];
  const parts = separator === '' ? [...text] : text.split(separator);
  const most = limit < 0 ? Infinity : Number(limit);
  if (parts.length <= most) return parts;
  return [...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)];
}

function substring(text: string, start: Int, end?: Int): string {
  const points = new CodePoints(text);
  const from = within(start, points.length);
  if (end === undefined) return points.slice(from);
  const to = within(end, points.length);
  if (from > to) throw evaluationError(`invalid substring range. start: ${start}, end: ${end}`);
  return points.slice(from, to);
}

const WHITE_SPACE = /^\p{White_Space}$/u;

/** Trims white space as Unicode defines it, which differs from JavaScript's trim. */
function trim(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && WHITE_SPACE.test(text[start]!)) start++;
  // A pattern for the end would try each run of white space inside of the text.
  while (end > start && WHITE_SPACE.test(text[end - 1]!)) end--;
  return text.slice(start, end);
}

const lowerAscii = (text: string): string =>
  text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
const upperAscii = (text: string): string =>
  text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase());

function join(texts: Texts, separator = ''): string {
  const parts = listItems(texts);
  let length = separator.length * parts.length;
  for (const part of parts) {
    if (typeof part !== 'string')
      throw evaluationError(`join: invalid input: ${runtimeTypeName(part)}`);
    length += part.length;
  }
  checkTextLength(length);
  return parts.join(separator);
}

const makesResult: CallCost = (_, result: Value) => traversal(sizeOf(result) * 2);

export const stringLibrary: Library = {
  name: 'strings',
  functions: {
    charAt: [member('string_char_at_int', [STRING, INT], STRING, charAt)],
    indexOf: [
      member('string_index_of_string', [STRING, STRING], INT, indexOf, traversesDeeply),
      member('string_index_of_string_int', [STRING, STRING, INT], INT, indexOf, traversesDeeply),
    ],
    lastIndexOf: [
      member('string_last_index_of_string', [STRING, STRING], INT, lastIndexOf, traversesDeeply),
      member(
        'string_last_index_of_string_int',
        [STRING, STRING, INT],
        INT,
        lastIndexOf,
        traversesDeeply,
      ),
    ],
    lowerAscii: [member('string_lower_ascii', [STRING], STRING, lowerAscii, traversesFirst)],
    upperAscii: [member('string_upper_ascii', [STRING], STRING, upperAscii, traversesFirst)],
    replace: [
      member(
        'string_replace_string_string',
        [STRING, STRING, STRING],
        STRING,
        replace,
        rewritesFirst,
      ),
      member(
        'string_replace_string_string_int',
        [STRING, STRING, STRING, INT],
        STRING,
        replace,
        rewritesFirst,
      ),
    ],
    split: [
      member('string_split_string', [STRING, STRING], list(STRING), split, rewritesFirst),
      member('string_split_string_int', [STRING, STRING, INT], list(STRING), split, rewritesFirst),
    ],
    substring: [
      member('string_substring_int', [STRING, INT], STRING, substring, traversesFirst),
      member('string_substring_int_int', [STRING, INT, INT], STRING, substring, traversesFirst),
    ],
    trim: [member('string_trim', [STRING], STRING, trim, traversesFirst)],
    join: [
      member('list_join', [list(STRING)], STRING, join, makesResult),
      member('list_join_string', [list(STRING), STRING], STRING, join, makesResult),
    ],
    format: [member('string_format', [STRING, list(DYN)], STRING, formatText, traversesFirst)],
    'strings.quote': [global('strings_quote', [STRING], STRING, quote, traversesFirst)],
  },
};
