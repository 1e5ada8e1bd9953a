// Times as in API objects: RFC 3339 in UTC with seconds (metav1.Time), or with microseconds
// (metav1.MicroTime). Times from clients are parsed as Go's time.Parse does, and normalized to
// these forms.

/** Returns 'YYYY-MM-DDTHH:MM:SSZ', cut to whole seconds. `ms`: since the epoch. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
    lastSecond = second;
  }
  return lastText;
}

/** Nearly all calls format the current time, thousands of times per second. */
let lastSecond = Number.NaN;
let lastText = '';

/** Returns 'YYYY-MM-DDTHH:MM:SS.mmmmmmZ'; the last three digits are 0. `ms`: since the epoch. */
export function formatMicroTime(ms: number): string {
  return `${new Date(Math.floor(ms)).toISOString().slice(0, 23)}000Z`;
}

/**
 * Parses a time in either form. Returns milliseconds since the epoch; undefined for a missing or
 * invalid time.
 */
export function parseTime(time: string | null | undefined): number | undefined {
  if (!time) return undefined;
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}

const TIME_LAYOUT = '2006-01-02T15:04:05Z07:00';
const MICRO_TIME_LAYOUT = '2006-01-02T15:04:05.000000Z07:00';

/** Go's zero time, which the API writes as null. */
const ZERO_TIME = '0001-01-01T00:00:00Z';

export class TimeError extends Error {}

/**
 * Returns the normalized form of a time, or undefined for the zero time. Throws TimeError with Go's
 * message.
 */
export function normalizeTime(text: string): string | undefined {
  if (text.length === 20 && isCanonical(text)) return text === ZERO_TIME ? undefined : text;
  const { ms } = parse(text, TIME_LAYOUT, undefined);
  return normalized(ms);
}

/**
 * Returns the normalized form of a MicroTime, whose fraction must have six digits; undefined for
 * the zero time. Throws TimeError.
 */
export function normalizeMicroTime(text: string): string | undefined {
  const { ms, fraction } = parse(text, MICRO_TIME_LAYOUT, 6);
  const seconds = normalized(ms);
  if (seconds === undefined && fraction === '000000') return undefined;
  return `${(seconds ?? ZERO_TIME).slice(0, -1)}.${fraction}Z`;
}

/** Returns the normalized form; undefined for the zero time. */
function normalized(ms: number): string | undefined {
  const text = new Date(ms).toISOString();
  // toISOString writes years beyond 9999 with a sign and six digits, which RFC 3339 does not allow.
  const seconds = `${text.slice(0, -5)}Z`;
  return seconds === ZERO_TIME ? undefined : seconds;
}

/**
 * Reports whether the text is YYYY-MM-DDTHH:MM:SSZ with every part in range, the form of nearly all
 * times.
 */
function isCanonical(text: string): boolean {
  if (
    text.charCodeAt(4) !== 45 ||
    text.charCodeAt(7) !== 45 ||
    text.charCodeAt(10) !== 84 ||
    text.charCodeAt(13) !== 58 ||
    text.charCodeAt(16) !== 58 ||
    text.charCodeAt(19) !== 90
  ) {
    return false;
  }
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  return (
    year >= 0 &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= daysIn(year, month) &&
    inRange(twoDigits(text, 11), 23) &&
    inRange(twoDigits(text, 14), 59) &&
    inRange(twoDigits(text, 17), 59)
  );
}

function inRange(value: number, max: number): boolean {
  return value >= 0 && value <= max;
}

/** Returns the number of two digits; a value below -100 for other characters. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -100_000;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

const elements: readonly {
  readonly layout: string;
  readonly pattern: RegExp;
  readonly name?: string;
  readonly min?: number;
  readonly max?: number;
}[] = [
  { layout: '2006', pattern: /^\d{4}/ },
  { layout: '-', pattern: /^-/ },
  { layout: '01', pattern: /^\d{2}/, name: 'month', min: 1, max: 12 },
  { layout: '-', pattern: /^-/ },
  { layout: '02', pattern: /^\d{2}/ },
  { layout: 'T', pattern: /^T/ },
  { layout: '15', pattern: /^\d{2}/, name: 'hour', min: 0, max: 23 },
  { layout: ':', pattern: /^:/ },
  { layout: '04', pattern: /^\d{2}/, name: 'minute', min: 0, max: 59 },
  { layout: ':', pattern: /^:/ },
  { layout: '05', pattern: /^\d{2}/, name: 'second', min: 0, max: 59 },
];

function parse(
  text: string,
  layout: string,
  fractionDigits: number | undefined,
): { ms: number; fraction: string } {
  const fail = (rest: string, element: string): never => {
    throw new TimeError(
      `parsing time ${JSON.stringify(text)} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${element}"`,
    );
  };
  const outOfRange = (what: string): never => {
    throw new TimeError(`parsing time ${JSON.stringify(text)}: ${what} out of range`);
  };
  let rest = text;
  const numbers: number[] = [];
  for (const element of elements) {
    const match = element.pattern.exec(rest)?.[0];
    if (match === undefined) return fail(rest, element.layout);
    rest = rest.slice(match.length);
    if (element.layout.length === 1) continue;
    const value = Number(match);
    if (element.name !== undefined && (value < (element.min ?? 0) || value > (element.max ?? 0)))
      outOfRange(element.name);
    numbers.push(value);
  }
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = numbers;
  let fraction = /^[.,]\d+/.exec(rest)?.[0].slice(1) ?? '';
  if (fractionDigits !== undefined && fraction.length !== fractionDigits)
    fail(rest, `.${'0'.repeat(fractionDigits)}`);
  if (fraction !== '') rest = rest.slice(fraction.length + 1);
  fraction = fraction.padEnd(6, '0').slice(0, 6);
  const zone = /^(?:Z|([+-])(\d{2}):(\d{2}))/.exec(rest);
  if (zone === null) return fail(rest, 'Z07:00');
  rest = rest.slice(zone[0].length);
  if (rest !== '')
    throw new TimeError(
      `parsing time ${JSON.stringify(text)}: extra text: ${JSON.stringify(rest)}`,
    );
  if (day < 1 || day > daysIn(year, month)) outOfRange('day');
  const zoneHours = Number(zone[2] ?? 0);
  const zoneMinutes = Number(zone[3] ?? 0);
  if (zoneHours > 24) outOfRange('time zone offset hour');
  if (zoneMinutes > 60) outOfRange('time zone offset minute');
  const offsetMs = (zone[1] === '-' ? -1 : 1) * (zoneHours * 60 + zoneMinutes) * 60_000;
  // Unlike the constructor, setUTCFullYear does not add 1900 to years below 100.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, 0);
  return { ms: date.getTime() - offsetMs, fraction };
}
