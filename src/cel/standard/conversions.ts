// Conversions between types: int(x), string(x) … and type(x), dyn(x).

import { ownValue } from '#machinery/collections/string-map.ts';
import { doubleToInt } from '../arithmetic.ts';
import { traversesFirst } from '../cost.ts';
import { global, type Functions } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  parameter,
  STRING,
  TIMESTAMP,
  typeOf,
  UINT,
} from '../types.ts';
import {
  Double,
  Duration,
  normalizeInt,
  runtimeTypeName,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from '../values.ts';
import { formatDouble } from './double-text.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from './time-text.ts';

const A = parameter('A');
const identity = (value: Value): Value => value;
const NANOSECONDS = 1_000_000_000n;

const noConversion = (to: string): Error =>
  evaluationError(`type conversion error from 'string' to '${to}'`);

function parseInt64(text: string): number | bigint {
  const value = /^[+-]?0*[0-9]{1,20}$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
  if (value === undefined || BigInt.asIntN(64, value) !== value) throw noConversion('int');
  return normalizeInt(value);
}

function parseUint64(text: string): Uint {
  const value = /^0*[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined;
  if (value === undefined || BigInt.asUintN(64, value) !== value) throw noConversion('uint');
  return new Uint(value);
}

const SPECIAL_DOUBLES: Readonly<Record<string, number>> = {
  inf: Infinity,
  '+inf': Infinity,
  '-inf': -Infinity,
  infinity: Infinity,
  '+infinity': Infinity,
  '-infinity': -Infinity,
  nan: NaN,
};

function parseDouble(text: string): Double {
  const special = ownValue(SPECIAL_DOUBLES, text.toLowerCase());
  if (special !== undefined) return new Double(special);
  const value = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(text)
    ? Number(text)
    : Infinity;
  if (!Number.isFinite(value)) throw noConversion('double');
  return new Double(value);
}

const TRUE_TEXTS: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE_TEXTS: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

function parseBool(text: string): boolean {
  if (TRUE_TEXTS.has(text)) return true;
  if (FALSE_TEXTS.has(text)) return false;
  throw noConversion('bool');
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw evaluationError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

/** Returns whole seconds, rounded to the past. */
const wholeSeconds = (nanoseconds: bigint): bigint => {
  const seconds = nanoseconds / NANOSECONDS;
  return nanoseconds < 0n && seconds * NANOSECONDS !== nanoseconds ? seconds - 1n : seconds;
};

export const conversionFunctions: Functions = {
  type: [global('type', [A], typeOf(A), (value: Value) => new TypeValue(runtimeTypeName(value)))],
  dyn: [global('to_dyn', [A], DYN, identity)],
  bool: [
    global('bool_to_bool', [BOOL], BOOL, identity),
    global('string_to_bool', [STRING], BOOL, parseBool),
  ],
  bytes: [
    global('bytes_to_bytes', [BYTES], BYTES, identity),
    global(
      'string_to_bytes',
      [STRING],
      BYTES,
      (text: string) => new TextEncoder().encode(text),
      traversesFirst,
    ),
  ],
  double: [
    global('double_to_double', [DOUBLE], DOUBLE, identity),
    global('int64_to_double', [INT], DOUBLE, (value: number | bigint) => new Double(Number(value))),
    global('string_to_double', [STRING], DOUBLE, parseDouble),
    global('uint64_to_double', [UINT], DOUBLE, (value: Uint) => new Double(Number(value.value))),
  ],
  duration: [
    global('duration_to_duration', [DURATION], DURATION, identity),
    global(
      'int64_to_duration',
      [INT],
      DURATION,
      (value: number | bigint) => new Duration(BigInt(value)),
    ),
    global('string_to_duration', [STRING], DURATION, parseDuration),
  ],
  int: [
    global('int64_to_int64', [INT], INT, identity),
    global('double_to_int64', [DOUBLE], INT, (value: Double) => doubleToInt(value.value)),
    global('duration_to_int64', [DURATION], INT, (value: Duration) =>
      normalizeInt(value.nanoseconds),
    ),
    global('string_to_int64', [STRING], INT, parseInt64),
    global('timestamp_to_int64', [TIMESTAMP], INT, (value: Timestamp) =>
      normalizeInt(wholeSeconds(value.nanoseconds)),
    ),
    global('uint64_to_int64', [UINT], INT, (value: Uint) => normalizeInt(value.value)),
  ],
  string: [
    global('string_to_string', [STRING], STRING, identity),
    global('bool_to_string', [BOOL], STRING, String),
    global('bytes_to_string', [BYTES], STRING, decodeText, traversesFirst),
    global('double_to_string', [DOUBLE], STRING, (value: Double) => formatDouble(value.value)),
    global('duration_to_string', [DURATION], STRING, formatDuration),
    global('int64_to_string', [INT], STRING, String),
    global('timestamp_to_string', [TIMESTAMP], STRING, formatTimestamp),
    global('uint64_to_string', [UINT], STRING, (value: Uint) => String(value.value)),
  ],
  timestamp: [
    global('timestamp_to_timestamp', [TIMESTAMP], TIMESTAMP, identity),
    global('int64_to_timestamp', [INT], TIMESTAMP, (value: number | bigint) =>
      Timestamp.checked(BigInt(value) * NANOSECONDS),
    ),
    global('string_to_timestamp', [STRING], TIMESTAMP, parseTimestamp),
  ],
  uint: [
    global('uint64_to_uint64', [UINT], UINT, identity),
    global('double_to_uint64', [DOUBLE], UINT, (value: Double) => {
      const whole = Math.trunc(value.value);
      if (!Number.isFinite(whole) || value.value < 0 || whole >= 2 ** 64)
        throw evaluationError('unsigned integer overflow');
      return new Uint(BigInt(whole));
    }),
    global('int64_to_uint64', [INT], UINT, (value: number | bigint) => Uint.checked(BigInt(value))),
    global('string_to_uint64', [STRING], UINT, parseUint64),
  ],
};
