// Reads values of custom kinds according to their schema. An object may have values of a wrong
// type, if it is older than the schema; reading them is an error. Text of some formats becomes a
// value of another type. As in upstream, it is parsed like its OpenAPI validator does, which
// differs from the functions of the language (`duration('1h')`).

import { DurationError, parseDurationNanoseconds } from '#machinery/text/duration.ts';
import { evaluationError, EvaluationError } from './errors.ts';
import { parseTimestamp } from './standard/time-text.ts';
import {
  adaptDynamic,
  Double,
  Duration,
  normalizeInt,
  type Timestamp,
  type Value,
} from './values.ts';

/** Converts a raw value of an object, which is not null. Throws EvaluationError. */
export type ReadValue = (raw: unknown) => Value;

const wrongType = (expected: string, raw: unknown): Error =>
  evaluationError(`invalid data, expected ${expected}, got ${goType(raw)}`);

function goType(raw: unknown): string {
  if (Array.isArray(raw)) return '[]interface {}';
  switch (typeof raw) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(raw) && Math.abs(raw) < 2 ** 63 ? 'int64' : 'float64';
    default:
      return 'map[string]interface {}';
  }
}

/** Returns a reader that parses text. */
export const readText =
  (parse: (text: string) => Value): ReadValue =>
  (raw) => {
    if (typeof raw !== 'string') throw wrongType('string', raw);
    return parse(raw);
  };

export const readBool: ReadValue = (raw) => {
  if (typeof raw !== 'boolean') throw wrongType('bool', raw);
  return raw;
};

export const readInt: ReadValue = (raw) => {
  if (typeof raw === 'bigint') return normalizeInt(raw);
  if (typeof raw !== 'number' || !Number.isInteger(raw)) throw wrongType('int', raw);
  return adaptDynamic(raw);
};

export const readDouble: ReadValue = (raw) => {
  if (typeof raw !== 'number') throw wrongType('float', raw);
  return new Double(raw);
};

export const readIntOrString: ReadValue = (raw) => {
  if (typeof raw === 'string' || Number.isInteger(raw)) return adaptDynamic(raw);
  throw evaluationError(
    'invalid data, expected XIntOrString value to be either a string or integer',
  );
};

export const notAMap = (): Error =>
  evaluationError('invalid data, expected a map for the provided schema with type=object');
export const notAList = (): Error =>
  evaluationError('invalid data, expected an array for the provided schema with type=array');

/** Parses base64 in the URL alphabet, as upstream does; validation accepts the other alphabet. */
export function parseBytes(text: string): Uint8Array {
  const invalid = /[^A-Za-z0-9_=-]/.exec(text);
  if (invalid !== null) {
    throw evaluationError(
      `Invalid byte formatted string ${text}: illegal base64 data at input byte ${invalid.index}`,
    );
  }
  return Uint8Array.from(Buffer.from(text, 'base64url'));
}

/** Parses a full-date of RFC 3339: midnight of the day, UTC. */
export function parseDate(text: string): Timestamp {
  try {
    return parseTimestamp(`${text}T00:00:00Z`);
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    throw evaluationError(
      `Invalid date formatted string ${text}: parsing time ${JSON.stringify(text)}${dateProblem(text)}`,
    );
  }
}

/** The parts of a date, with Go's names. */
const DATE_PARTS: readonly (readonly [RegExp, string])[] = [
  [/^\d{4}/, '2006'],
  [/^-/, '-'],
  [/^\d{2}/, '01'],
  [/^-/, '-'],
  [/^\d{2}/, '02'],
];

/** Returns the error of an invalid date with the message of Go's parser. */
function dateProblem(text: string): string {
  let rest = text;
  for (const [part, name] of DATE_PARTS) {
    const match = part.exec(rest)?.[0];
    if (match === undefined)
      return ` as "2006-01-02": cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(name)}`;
    if (name === '01' && (Number(match) < 1 || Number(match) > 12)) return ': month out of range';
    rest = rest.slice(match.length);
  }
  return rest === '' ? ': day out of range' : `: extra text: ${JSON.stringify(rest)}`;
}

/**
 * Parses a date-time of RFC 3339. Validation also accepts lower-case letters, which are invalid in
 * expressions.
 */
export function parseDateTime(text: string): Timestamp {
  try {
    return parseTimestamp(text);
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    const parsing = `Invalid date-time formatted string ${text}: parsing time ${JSON.stringify(text)}`;
    if (text[10] !== 'T') {
      throw evaluationError(
        `${parsing} as "2006-01-02T15:04:05": cannot parse ${JSON.stringify(text.slice(10))} as "T"`,
      );
    }
    const rest = text.slice(19).replace(/^[.,][0-9]+/, '');
    throw evaluationError(`${parsing}: extra text: ${JSON.stringify(rest)}`);
  }
}

const SECOND = 1_000_000_000n;
const UNITS: readonly {
  readonly exact: readonly string[];
  readonly prefix: string;
  readonly nanoseconds: bigint;
}[] = [
  { exact: ['ns'], prefix: 'nano', nanoseconds: 1n },
  { exact: ['us', 'µs'], prefix: 'micro', nanoseconds: 1000n },
  { exact: ['ms'], prefix: 'milli', nanoseconds: 1_000_000n },
  { exact: ['s'], prefix: 'sec', nanoseconds: SECOND },
  { exact: ['m'], prefix: 'min', nanoseconds: 60n * SECOND },
  { exact: ['h', 'hr'], prefix: 'hour', nanoseconds: 3600n * SECOND },
  { exact: ['d'], prefix: 'day', nanoseconds: 86_400n * SECOND },
  { exact: ['w', 'wk'], prefix: 'week', nanoseconds: 604_800n * SECOND },
];
const MAX_COUNT = 2n ** 63n - 1n;

/** In UTF-16 units: reading a longer text would take long, and upstream has no limit. */
const MAX_DURATION_LENGTH = 65_536;

/** A match begins with the first digit of a number: a text of digits alone takes linear time. */
const COUNT_AND_UNIT = /(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-zµ]+)/g;

/**
 * Returns the nanoseconds of a Go duration, or the sum of all numbers with units in the text ('3
 * days and 2 hours'); undefined if the text is not a duration, or too long. As in upstream, a sum of more than
 * 64 bits wraps.
 */
export function formatDurationNanoseconds(text: string): bigint | undefined {
  if (text.length > MAX_DURATION_LENGTH) return undefined;
  try {
    return parseDurationNanoseconds(text);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  let sum: bigint | undefined;
  for (const [, count = '0', unit = ''] of text.matchAll(COUNT_AND_UNIT)) {
    if (count.length > 19 || BigInt(count) > MAX_COUNT) return undefined;
    const lower = unit.toLowerCase();
    for (const { exact, prefix, nanoseconds } of UNITS) {
      if (exact.includes(lower) || lower.startsWith(prefix))
        sum = (sum ?? 0n) + BigInt(count) * nanoseconds;
    }
  }
  return sum === undefined ? undefined : BigInt.asIntN(64, sum);
}

export function parseFormatDuration(text: string): Duration {
  const nanoseconds = formatDurationNanoseconds(text);
  if (nanoseconds === undefined)
    throw evaluationError(`Invalid duration ${text}: unable to parse ${text} as duration`);
  return new Duration(nanoseconds);
}
