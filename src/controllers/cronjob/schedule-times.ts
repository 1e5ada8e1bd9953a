// Computes when a schedule is due in a time zone, over changes to and from summer time, like
// robfig/cron v3, which upstream uses. A time that the clock skips is due at the end of the skipped
// hour only if the fields still match there. A repeated time is due once for schedules with a fixed
// hour.

import type { CronField, CronSchedule, CronTimes } from '#api/groups/batch/v1/schedule.ts';

/** The search ends after this many years: a schedule may never be due (February 30). */
const YEARS = 5;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

interface Civil {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
}

/**
 * Returns the first time after `afterMs` that the schedule is due; undefined if it never is.
 * Milliseconds since the epoch.
 */
export function nextTime(
  schedule: CronSchedule,
  afterMs: number,
  timeZone = 'UTC',
): number | undefined {
  if ('everyMs' in schedule) return Math.floor(afterMs / 1000) * 1000 + schedule.everyMs;
  const zone = zoneOf(schedule.timeZone || timeZone);
  // Due times are whole minutes.
  let at = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const lastYear = zone.civil(at).year + YEARS;
  for (;;) {
    const civil = zone.civil(at);
    if (civil.year > lastYear) return undefined;
    if (!schedule.month.values.has(civil.month)) {
      const [year, month] =
        civil.month === 12 ? [civil.year + 1, 1] : [civil.year, civil.month + 1];
      at = zone.firstOf({ year, month, day: 1 });
    } else if (!isDay(schedule, civil)) {
      at = zone.dayAfter(at, civil);
    } else if (!schedule.hour.values.has(civil.hour)) {
      at = at - civil.minute * MINUTE_MS + HOUR_MS;
    } else if (!schedule.minute.values.has(civil.minute)) {
      at = nextMinute(zone, schedule, at, civil);
    } else {
      return at;
    }
  }
}

/** Returns the next minute of the hour at which the schedule may be due, or of the hour after it. */
function nextMinute(
  zone: Zone,
  { minute }: CronTimes,
  at: number,
  { hour, minute: now }: Civil,
): number {
  let steps = 1;
  while (now + steps < 60 && !minute.values.has(now + steps)) steps++;
  const next = at + steps * MINUTE_MS;
  const { hour: nextHour, minute: then } = zone.civil(next);
  const expected = now + steps === 60 ? then === 0 : nextHour === hour && then === now + steps;
  // The clock is changed in between: minute by minute then.
  return expected ? next : at + MINUTE_MS;
}

function isDay({ dayOfMonth, dayOfWeek }: CronTimes, { year, month, day }: Civil): boolean {
  const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
  const [byMonth, byWeek] = [dayOfMonth.values.has(day), dayOfWeek.values.has(weekday)];
  return isAny(dayOfMonth) || isAny(dayOfWeek) ? byMonth && byWeek : byMonth || byWeek;
}

const isAny = ({ any }: CronField): boolean => any;

interface Zone {
  civil(ms: number): Civil;
  /** Returns when the day begins, in milliseconds since the epoch. */
  firstOf(day: Pick<Civil, 'year' | 'month' | 'day'>): number;
  dayAfter(ms: number, civil: Civil): number;
}

const zones = new Map<string, Zone>();

function zoneOf(name: string): Zone {
  let zone = zones.get(name);
  if (zone === undefined) {
    zone = makeZone(name === 'Local' ? 'UTC' : name);
    zones.set(name, zone);
  }
  return zone;
}

function utcCivil(ms: number): Civil {
  const date = new Date(ms);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
  };
}

function makeZone(timeZone: string): Zone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const isUtc = timeZone === 'UTC';
  const civil = (ms: number): Civil => {
    if (isUtc) return utcCivil(ms);
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(ms)) parts[type] = Number(value);
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts;
    return { year, month, day, hour, minute };
  };
  const asUtc = ({ year, month, day, hour, minute }: Civil): number =>
    Date.UTC(year, month - 1, day, hour, minute);
  const firstOf = ({ year, month, day }: Pick<Civil, 'year' | 'month' | 'day'>): number => {
    // The offset depends on the result: start with a guess and correct it.
    const wanted = Date.UTC(year, month - 1, day);
    let at = wanted;
    for (let i = 0; i < 3; i++) at -= asUtc(civil(at)) - wanted;
    // Midnight may not exist: the day begins where the clock has jumped to.
    while (civil(at).day !== day) at += HOUR_MS / 2;
    return at;
  };
  return {
    civil,
    firstOf,
    dayAfter(_ms, { year, month, day }) {
      const next = new Date(Date.UTC(year, month - 1, day) + DAY_MS);
      return firstOf({
        year: next.getUTCFullYear(),
        month: next.getUTCMonth() + 1,
        day: next.getUTCDate(),
      });
    },
  };
}

/**
 * Returns how often the schedule was due after `fromMs` and until `untilMs`, and the last time.
 * `many`: the count exceeds MANY.
 */
export function missedTimes(
  schedule: CronSchedule,
  fromMs: number,
  untilMs: number,
  timeZone?: string,
): { readonly last: number | undefined; readonly count: number; readonly many: boolean } {
  let last: number | undefined;
  let count = 0;
  for (
    let at = nextTime(schedule, fromMs, timeZone);
    at !== undefined && at <= untilMs;
    at = nextTime(schedule, at, timeZone)
  ) {
    last = at;
    count++;
    if (count < MANY) continue;
    // From here on only the last one matters. Schedules repeat: it is within the longest gap before
    // the end.
    const gap = Math.max(MINUTE_MS, (nextTime(schedule, at, timeZone) ?? untilMs) - at);
    for (let back = gap; ; back *= 2) {
      const from = Math.max(at, untilMs - back);
      let found: number | undefined;
      for (
        let each = nextTime(schedule, from, timeZone);
        each !== undefined && each <= untilMs;
        each = nextTime(schedule, each, timeZone)
      ) {
        found = each;
      }
      if (found !== undefined || from === at) return { last: found ?? at, count, many: true };
    }
  }
  return { last, count, many: false };
}

/** Beyond this number of missed times, a warning event is recorded. */
const MANY = 100;
