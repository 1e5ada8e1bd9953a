// Schedules of cron jobs: the five fields of cron (minute, hour, day of the month, month, day of
// the week), its descriptors (@daily), and '@every 1h30m'. The accepted texts and the errors are
// those of robfig/cron v3, which Kubernetes uses.

import { parseDuration } from '#machinery/text/duration.ts';
import { quote } from '#machinery/text/go-format.ts';
import { isTimeZone } from './time-zones.ts';

/** The values of one field at which the schedule is due. */
export interface CronField {
  readonly values: ReadonlySet<number>;
  /** The field is '*' or '?'. If one of the two day fields is, only the other one counts. */
  readonly any: boolean;
}

/**
 * Due at each minute that matches the fields for minute, hour and month, and one of the two fields
 * for days.
 */
export interface CronTimes {
  readonly minute: CronField;
  readonly hour: CronField;
  /** 1 to 31. */
  readonly dayOfMonth: CronField;
  /** 1 to 12. */
  readonly month: CronField;
  /** 0 is Sunday. */
  readonly dayOfWeek: CronField;
  /**
   * The zone in the text itself (TZ=…). Kubernetes has a field for it, and accepts this in old
   * objects only.
   */
  readonly timeZone?: string;
}

/** Due periodically. */
export interface CronInterval {
  /** Whole seconds, at least one. */
  readonly everyMs: number;
}

export type CronSchedule = CronTimes | CronInterval;

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const MINUTE: Bounds = { min: 0, max: 59 };
const HOUR: Bounds = { min: 0, max: 23 };
const DAY_OF_MONTH: Bounds = { min: 1, max: 31 };
const MONTH: Bounds = {
  min: 1,
  max: 12,
  names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
};
const DAY_OF_WEEK: Bounds = {
  min: 0,
  max: 6,
  names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
};
const FIELDS = [MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK] as const;

const DESCRIPTORS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);
const EVERY = '@every ';

/**
 * The longest text. A list of all minutes, hours and days has 400 characters. Upstream has no
 * limit.
 */
const MAX_LENGTH = 4096;

/** Parses a schedule. Throws an Error that describes the problem. */
export function parseSchedule(text: string): CronSchedule {
  if (text === '') throw new Error('empty spec string');
  if (text.length > MAX_LENGTH)
    throw new Error(`the schedule must have at most ${MAX_LENGTH} characters`);
  if (!/^(CRON_)?TZ=/.test(text)) return parseTimes(text);
  const end = text.indexOf(' ');
  if (end < 0)
    throw new Error('invalid schedule format: runtime error: slice bounds out of range [:-1]');
  const timeZone = text.slice(text.indexOf('=') + 1, end);
  if (timeZone !== '' && timeZone !== 'Local' && !isTimeZone(timeZone)) {
    throw new Error(`provided bad location ${timeZone}: unknown time zone ${timeZone}`);
  }
  const schedule = parseTimes(text.slice(end).trim());
  return 'everyMs' in schedule ? schedule : { ...schedule, timeZone };
}

function parseTimes(text: string): CronSchedule {
  if (text.startsWith('@')) return parseDescriptor(text);
  const words = text.split(/\s+/).filter((word) => word !== '');
  if (words.length !== FIELDS.length) {
    throw new Error(
      `expected exactly ${FIELDS.length} fields, found ${words.length}: [${words.join(' ')}]`,
    );
  }
  const [minute, hour, dayOfMonth, month, dayOfWeek] = FIELDS.map((bounds, index) =>
    parseField(words[index]!, bounds),
  ) as [CronField, CronField, CronField, CronField, CronField];
  return { minute, hour, dayOfMonth, month, dayOfWeek };
}

function parseDescriptor(text: string): CronSchedule {
  const times = DESCRIPTORS.get(text);
  if (times !== undefined) return parseTimes(times);
  if (!text.startsWith(EVERY)) throw new Error(`unrecognized descriptor: ${text}`);
  let durationMs: number;
  try {
    durationMs = parseDuration(text.slice(EVERY.length));
  } catch (error) {
    throw new Error(`failed to parse duration ${text}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return { everyMs: Math.max(1000, durationMs - (durationMs % 1000)) };
}

function parseField(text: string, bounds: Bounds): CronField {
  const values = new Set<number>();
  let any = false;
  for (const part of text.split(',')) {
    // An empty part between two commas is ignored.
    if (part === '') continue;
    const range = parseRange(part, bounds);
    for (let value = range.first; value <= range.last; value += range.step) values.add(value);
    any ||= range.any;
  }
  return { values, any };
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
  readonly any: boolean;
}

/** Parses '5', '1-5' or '*', each optionally followed by a step ('*' and '/15'). */
function parseRange(text: string, bounds: Bounds): Range {
  const [span = '', stepText, ...moreSlashes] = text.split('/');
  const [low = '', high, ...moreHyphens] = span.split('-');
  let any = low === '*' || low === '?';
  let first = bounds.min;
  let last = bounds.max;
  if (!any) {
    first = parseIntOrName(low, bounds.names);
    if (moreHyphens.length > 0) throw new Error(`too many hyphens: ${text}`);
    last = high === undefined ? first : parseIntOrName(high, bounds.names);
  }
  if (moreSlashes.length > 0) throw new Error(`too many slashes: ${text}`);
  let step = 1;
  if (stepText !== undefined) {
    step = parseNatural(stepText);
    // '5/15' is 5-59/15.
    if (high === undefined) last = bounds.max;
    if (step > 1) any = false;
  }
  if (first < bounds.min)
    throw new Error(`beginning of range (${first}) below minimum (${bounds.min}): ${text}`);
  if (last > bounds.max)
    throw new Error(`end of range (${last}) above maximum (${bounds.max}): ${text}`);
  if (first > last)
    throw new Error(`beginning of range (${first}) beyond end of range (${last}): ${text}`);
  if (step === 0) throw new Error(`step of range should be a positive number: ${text}`);
  return { first, last, step, any };
}

function parseIntOrName(text: string, names: readonly string[] | undefined): number {
  const index = names?.indexOf(text.toLowerCase()) ?? -1;
  if (index < 0) return parseNatural(text);
  // Months are counted from 1.
  return names === MONTH.names ? index + 1 : index;
}

const MAX_INT64 = 2n ** 63n;

function parseNatural(text: string): number {
  const problem = !/^[+-]?[0-9]+$/.test(text)
    ? 'invalid syntax'
    : BigInt(text.replace('+', '')) >= MAX_INT64
      ? 'value out of range'
      : undefined;
  if (problem !== undefined) {
    throw new Error(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${quote(text)}: ${problem}`,
    );
  }
  const value = Number(text);
  if (value < 0) throw new Error(`negative number (${value}) not allowed: ${text}`);
  return value;
}
