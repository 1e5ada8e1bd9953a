// The function `text.format([…])`: %s %d %f %e %b %x %X %o and %%, with a precision for %f and %e.

import { evaluationError } from '../errors.ts';
import { expandExponent } from '../standard/double-text.ts';
import { formatDuration, formatTimestamp } from '../standard/time-text.ts';
import { compareText } from '../text.ts';
import {
  Double,
  Duration,
  isInt,
  isList,
  isMap,
  listItems,
  mapGet,
  mapKeys,
  runtimeTypeName,
  Timestamp,
  TypeValue,
  Uint,
  type ListValue,
  type Value,
} from '../values.ts';
import { WorkLimit } from '../work-limit.ts';

const CLAUSE = /%(?:%|(?:\.(\d+))?(.?))/gsu;
const MAX_PRECISION = 1000;

/**
 * Yields the letter of each clause of a template; undefined for a percent sign. Throws
 * EvaluationError.
 */
export function* clausesOf(template: string): Generator<string | undefined, void> {
  for (const [clause, , verb] of template.matchAll(CLAUSE)) {
    if (clause === '%%') {
      yield undefined;
      continue;
    }
    requireVerb(verb);
    yield verb;
  }
}

function requireVerb(verb: string | undefined): asserts verb is string {
  if (verb === undefined || verb === '') throw evaluationError('unexpected end of string');
  if (!'sdfebxXo'.includes(verb)) {
    throw evaluationError(
      `could not parse formatting clause: unrecognized formatting clause "${verb}"`,
    );
  }
}

export function formatText(template: string, args: readonly unknown[] | ListValue): string {
  const values = listItems(args);
  let next = 0;
  const limit = new WorkLimit();
  const text = template.replaceAll(
    CLAUSE,
    (clause, precision: string | undefined, verb: string | undefined) => {
      if (clause === '%%') return '%';
      requireVerb(verb);
      if (next >= values.length) throw evaluationError(`index ${next} out of range`);
      if (precision !== undefined && Number(precision) > MAX_PRECISION)
        throw evaluationError('precision is too large');
      const written = formatClause(
        verb,
        precision === undefined ? undefined : Number(precision),
        values[next++],
        limit,
      );
      limit.text(written.length);
      return written;
    },
  );
  return text;
}

const failure = (expected: string, value: Value): Error =>
  evaluationError(`error during formatting: ${expected}, was given ${runtimeTypeName(value)}`);

const isNumber = (value: Value): value is number | bigint | Uint =>
  isInt(value) || value instanceof Uint;
const toBigInt = (value: number | bigint | Uint): bigint =>
  value instanceof Uint ? value.value : BigInt(value);

function special(value: Value): string | undefined {
  if (!(value instanceof Double) || Number.isFinite(value.value)) return undefined;
  if (Number.isNaN(value.value)) return 'NaN';
  return value.value > 0 ? 'Infinity' : '-Infinity';
}

function formatClause(
  verb: string,
  precision: number | undefined,
  value: Value,
  limit: WorkLimit,
): string {
  switch (verb) {
    case 's':
      return plain(value, limit);
    case 'd':
      if (!isNumber(value))
        return special(value) ?? fail('decimal clause can only be used on integers', value);
      return String(toBigInt(value));
    case 'f': {
      const number =
        toNumber(value) ?? fail('fixed-point clause can only be used on doubles', value);
      return special(value) ?? toFixed(number, precision ?? 6);
    }
    case 'e': {
      const number =
        toNumber(value) ?? fail('scientific clause can only be used on doubles', value);
      return special(value) ?? toScientific(number, precision ?? 6);
    }
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      if (!isNumber(value))
        return fail('only integers and bools can be formatted as binary', value);
      return toBigInt(value).toString(2);
    case 'o':
      if (!isNumber(value)) return fail('octal clause can only be used on integers', value);
      return toBigInt(value).toString(8);
    default: {
      const hex = hexadecimal(value);
      return verb === 'X' ? hex.toUpperCase() : hex;
    }
  }
}

function fail(expected: string, value: Value): never {
  throw failure(expected, value);
}

function toNumber(value: Value): number | undefined {
  if (value instanceof Double) return value.value;
  return isNumber(value) ? Number(toBigInt(value)) : undefined;
}

function hexadecimal(value: Value): string {
  if (isNumber(value)) return toBigInt(value).toString(16);
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return fail('only integers, byte buffers, and strings can be formatted as hex', value);
}

/** Rounds half to even, as Go does; JavaScript rounds half up. */
function toFixed(value: number, precision: number): string {
  if (Math.abs(value) >= 1e21)
    return `${BigInt(value)}${precision === 0 ? '' : `.${'0'.repeat(precision)}`}`;
  const shown = Math.min(precision, 60);
  const rounded = Math.abs(value).toFixed(shown);
  const exact = Math.abs(value).toFixed(Math.min(100, shown + 30));
  const isTie = /^50*$/.test(exact.slice(exact.indexOf('.') + 1 + shown));
  const digits =
    isTie && /[13579]$/.test(rounded)
      ? exact.slice(0, exact.indexOf('.') + (shown === 0 ? 0 : 1 + shown))
      : rounded;
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  return sign + digits + '0'.repeat(precision - shown);
}

function toScientific(value: number, precision: number): string {
  const [mantissa, exponent] = value.toExponential(Math.min(precision, 100)).split('e') as [
    string,
    string,
  ];
  const digits = exponent.slice(1).padStart(2, '0');
  return `${mantissa}${'0'.repeat(precision - Math.min(precision, 100))}e${exponent[0]!}${digits}`;
}

/** Writing a part as text takes about as long as comparing so many. */
const PARTS = 10;

/** Returns the text of %s. */
function plain(value: Value, limit: WorkLimit): string {
  limit.part(PARTS);
  if (typeof value === 'string') return value;
  if (value === null) return 'null';
  if (typeof value === 'boolean' || isInt(value)) return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Double) return special(value) ?? plainDouble(value.value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  if (isList(value))
    return `[${listItems(value)
      .map((item) => counted(item, limit))
      .join(', ')}]`;
  if (isMap(value)) {
    const entries = [...mapKeys(value)].map((key): [string, string] => [
      counted(key, limit),
      counted(mapGet(value, key), limit),
    ]);
    entries.sort(([a], [b]) => compareText(a, b));
    return `{${entries.map(([key, item]) => `${key}: ${item}`).join(', ')}}`;
  }
  return fail(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, ' +
      'types, durations, and timestamps',
    value,
  );
}

/** Returns the text of a part of a list or map, and counts it. */
function counted(value: Value, limit: WorkLimit): string {
  const text = plain(value, limit);
  limit.text(text.length);
  return text;
}

function plainDouble(value: number): string {
  const [mantissa, power] = value.toExponential().split('e') as [string, string];
  return expandExponent(mantissa, Number(power));
}
