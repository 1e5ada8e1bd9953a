// Timestamps (RFC 3339) and durations as text.

import { DurationError, parseDurationNanoseconds } from '#machinery/text/duration.ts';
import { evaluationError } from '../errors.ts';
import { Duration, Timestamp } from '../values.ts';
import { countCharacters } from '../work-limit.ts';
import { expandExponent } from './double-text.ts';

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9})\d*)?(Z|[+-]\d{2}:\d{2})$/;

/** Parses a timestamp. Throws EvaluationError. */
export function parseTimestamp(text: string): Timestamp {
  const parseError = (): Error =>
    evaluationError(`type conversion error from 'string' to 'google.protobuf.Timestamp'`);
  const parts = RFC3339.exec(text);
  if (parts === null) throw parseError();
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  // Date normalizes a date that does not exist to another one.
  if (
    date.getUTCMonth() !== month - 1 ||
    date.getUTCDate() !== day ||
    hour > 23 ||
    minute > 59 ||
    second > 59
  )
    throw parseError();
  const fraction = BigInt((parts[7] ?? '').padEnd(9, '0'));
  const zone = parts[8]!;
  let offset = 0;
  if (zone !== 'Z') {
    const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4, 6))];
    if (hours > 24 || minutes > 59) throw parseError();
    offset = (hours * 60 + minutes) * (zone.startsWith('-') ? -1 : 1);
  }
  return Timestamp.checked(
    (BigInt(date.getTime()) - BigInt(offset) * 60_000n) * 1_000_000n + fraction,
    offset,
  );
}

/** Returns milliseconds (rounded to the past) and the nanoseconds beyond whole seconds. */
export function splitTimestamp(time: Timestamp): {
  readonly milliseconds: number;
  readonly nanoseconds: number;
} {
  const nanoseconds = ((time.nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const seconds = (time.nanoseconds - nanoseconds) / 1_000_000_000n;
  return {
    milliseconds: Number(seconds) * 1000 + Number(nanoseconds / 1_000_000n),
    nanoseconds: Number(nanoseconds),
  };
}

export function formatTimestamp(time: Timestamp): string {
  const { milliseconds, nanoseconds } = splitTimestamp(time);
  const whole = new Date(milliseconds + time.offset * 60_000).toISOString().slice(0, 19);
  const fraction = String(nanoseconds).padStart(9, '0').replace(/0+$/, '');
  return `${whole}${fraction === '' ? '' : `.${fraction}`}${zoneOf(time.offset)}`;
}

function zoneOf(offset: number): string {
  if (offset === 0) return 'Z';
  const two = (part: number): string => String(part).padStart(2, '0');
  const minutes = Math.abs(offset);
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** Parses a duration. Throws EvaluationError. */
export function parseDuration(text: string): Duration {
  countCharacters(text);
  try {
    return new Duration(parseDurationNanoseconds(text));
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw evaluationError(`type conversion error from 'string' to 'google.protobuf.Duration'`);
  }
}

/** Formats a duration in seconds: '5400s', '0.5s'. */
export function formatDuration(duration: Duration): string {
  const seconds = Number(duration.nanoseconds) / 1e9;
  const [mantissa, power] = seconds.toExponential().split('e') as [string, string];
  return `${expandExponent(mantissa, Number(power))}s`;
}
