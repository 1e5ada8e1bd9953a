// Parts of timestamps and durations: x.getHours(), x.getFullYear('Europe/Berlin') …

import { member, type Functions } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import { DURATION, INT, STRING, TIMESTAMP } from '../types.ts';
import { normalizeInt, type Duration, type Timestamp } from '../values.ts';
import { countUncharged } from '../work-limit.ts';
import { splitTimestamp } from './time-text.ts';

/**
 * Formats by the name of their zone. Few zones are used, repeatedly, and creating a format is slow.
 */
const formats = new Map<string, Intl.DateTimeFormat>();
const MAX_FORMATS = 64;
/** The work of converting a time to a named zone, in units of cost. */
const WORK_OF_ZONE = 50;

function formatOf(zone: string): Intl.DateTimeFormat {
  const cached = formats.get(zone);
  if (cached !== undefined) return cached;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    throw evaluationError(`unknown time zone ${zone}`);
  }
  if (formats.size >= MAX_FORMATS) formats.clear();
  formats.set(zone, format);
  return format;
}

const OFFSET = /^([+-]?)(\d{1,2}):(\d{2})$/;

/**
 * Returns a date whose UTC parts are those of the time in the zone: a name, or an offset such as
 * '-08:00'.
 */
function inZone(time: Timestamp, zone: string): Date {
  const { milliseconds } = splitTimestamp(time);
  if (zone === 'UTC' || zone === '') return new Date(milliseconds);
  const offset = OFFSET.exec(zone);
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return new Date(milliseconds + (offset[1] === '-' ? -minutes : minutes) * 60_000);
  }
  countUncharged(WORK_OF_ZONE);
  const parts = new Map(
    formatOf(zone)
      .formatToParts(milliseconds)
      .map(({ type, value }) => [type, value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
  const date = new Date(0);
  const year = parts.get('era') === 'BC' ? 1 - part('year') : part('year');
  date.setUTCFullYear(year, part('month') - 1, part('day'));
  date.setUTCHours(
    part('hour'),
    part('minute'),
    part('second'),
    ((milliseconds % 1000) + 1000) % 1000,
  );
  return date;
}

function dayOfYear(date: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - start.getTime()) / 86_400_000);
}

const PARTS: Readonly<Record<string, readonly [string, (date: Date) => number]>> = {
  getFullYear: ['year', (date) => date.getUTCFullYear()],
  getMonth: ['month', (date) => date.getUTCMonth()],
  getDayOfYear: ['day_of_year', dayOfYear],
  getDayOfMonth: ['day_of_month', (date) => date.getUTCDate() - 1],
  getDate: ['day_of_month_1_based', (date) => date.getUTCDate()],
  getDayOfWeek: ['day_of_week', (date) => date.getUTCDay()],
  getHours: ['hours', (date) => date.getUTCHours()],
  getMinutes: ['minutes', (date) => date.getUTCMinutes()],
  getSeconds: ['seconds', (date) => date.getUTCSeconds()],
  getMilliseconds: ['milliseconds', (date) => date.getUTCMilliseconds()],
};

/**
 * The whole units of a duration. `getMilliseconds` returns only the rest after the full seconds.
 */
const DURATION_PARTS: Readonly<Record<string, (nanoseconds: bigint) => bigint>> = {
  getHours: (nanoseconds) => nanoseconds / 3_600_000_000_000n,
  getMinutes: (nanoseconds) => nanoseconds / 60_000_000_000n,
  getSeconds: (nanoseconds) => nanoseconds / 1_000_000_000n,
  getMilliseconds: (nanoseconds) => (nanoseconds / 1_000_000n) % 1000n,
};

export const timeFunctions: Functions = Object.fromEntries(
  Object.entries(PARTS).map(([name, [id, read]]) => {
    const overloads = [
      member(`timestamp_to_${id}`, [TIMESTAMP], INT, (time: Timestamp) =>
        read(inZone(time, 'UTC')),
      ),
      member(
        `timestamp_to_${id}_with_tz`,
        [TIMESTAMP, STRING],
        INT,
        (time: Timestamp, zone: string) => read(inZone(time, zone)),
      ),
    ];
    const ofDuration = DURATION_PARTS[name];
    if (ofDuration !== undefined) {
      const call = (duration: Duration): number | bigint =>
        normalizeInt(ofDuration(duration.nanoseconds));
      overloads.push(member(`duration_to_${id}`, [DURATION], INT, call));
    }
    return [name, overloads];
  }),
);
