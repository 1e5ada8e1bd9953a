// Sets of a job's indexes as text: '1,3-5,7'.

import { quote } from '#machinery/text/go-format.ts';

interface Interval {
  readonly first: number;
  readonly last: number;
}

/**
 * Returns the number of indexes in the text, which must be below `completions` and in rising order;
 * or an error text.
 */
export function countIndexes(text: string, completions: number): number | string {
  if (text === '') return 0;
  let total = 0;
  let previous: number | undefined;
  for (const part of text.split(',')) {
    const interval = parseInterval(part, completions);
    if (typeof interval === 'string') return interval;
    const { first, last } = interval;
    if (previous !== undefined && previous >= first) return notIncreasing(previous, first);
    total += last - first + 1;
    previous = last;
  }
  return total;
}

/**
 * Returns the first index in both texts. Invalid parts are ignored: they are reported elsewhere.
 */
export function commonIndex(a: string, b: string, completions: number): number | undefined {
  const left = intervalsOf(a, completions);
  const right = intervalsOf(b, completions);
  for (let i = 0, j = 0; i < left.length && j < right.length;) {
    const x = left[i]!;
    const y = right[j]!;
    if (x.first <= y.last && y.first <= x.last) return Math.max(x.first, y.first);
    if (x.first <= y.first) i++;
    else j++;
  }
  return undefined;
}

function intervalsOf(text: string, completions: number): Interval[] {
  const parts = text === '' ? [] : text.split(',').map((part) => parseInterval(part, completions));
  return parts.filter((part) => typeof part !== 'string');
}

function parseInterval(text: string, completions: number): Interval | string {
  const limits = text.split('-');
  if (limits.length > 2) {
    return (
      `the fragment ${quote(text)} violates the requirement that an index interval can have ` +
      "at most two parts separated by '-'"
    );
  }
  const numbers: number[] = [];
  for (const limit of limits) {
    if (!/^\+?[0-9]+$/.test(limit))
      return `cannot convert string to integer for index: ${quote(limit)}`;
    const number = Number(limit);
    if (number >= completions) return `too large index: ${quote(limit)}`;
    numbers.push(number);
  }
  const [first = 0, last = first] = numbers;
  return limits.length === 2 && first >= last ? notIncreasing(first, last) : { first, last };
}

function notIncreasing(previous: number, current: number): string {
  return `non-increasing order, previous: ${previous}, current: ${current}`;
}
