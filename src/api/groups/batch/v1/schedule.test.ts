import { describe, expect, test } from 'vitest';

import { parseSchedule, type CronField, type CronTimes } from './schedule.ts';
import { isTimeZone } from './time-zones.ts';

const range = (first: number, last: number, step = 1): number[] =>
  Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);

function times(text: string): CronTimes {
  const schedule = parseSchedule(text);
  if ('everyMs' in schedule) throw new Error(`${text} is an interval`);
  return schedule;
}

describe('fields', () => {
  const minutes = (text: string): CronField => times(`${text} * * * *`).minute;

  test.each<[text: string, values: number[], any: boolean]>([
    ['5', [5], false],
    ['*', range(0, 59), true],
    ['?', range(0, 59), true],
    ['1-4', [1, 2, 3, 4], false],
    ['0,15,59', [0, 15, 59], false],
    ['*/15', [0, 15, 30, 45], false],
    ['*/1', range(0, 59), true],
    ['50/5', [50, 55], false],
    ['10-20/5', [10, 15, 20], false],
    ['1,1-3,*/30', [0, 1, 2, 3, 30], false],
    ['1,*', range(0, 59), true],
    ['1,,2', [1, 2], false],
    ['+7', [7], false],
    ['007', [7], false],
  ])('%s', (text, values, any) => {
    const field = minutes(text);
    expect([...field.values].sort((a, b) => a - b)).toEqual(values);
    expect(field.any).toBe(any);
  });

  test.each<[text: string, name: keyof CronTimes, values: number[]]>([
    ['0 0 * jan,DEC *', 'month', [1, 12]],
    ['0 0 * mar-May *', 'month', [3, 4, 5]],
    ['0 0 * * mon-FRI', 'dayOfWeek', [1, 2, 3, 4, 5]],
    ['0 0 * * SUN', 'dayOfWeek', [0]],
    ['0 22 * * *', 'hour', [22]],
    ['0 0 31 * *', 'dayOfMonth', [31]],
    ['  0 0\t1,15 *  *  ', 'dayOfMonth', [1, 15]],
  ])('%s', (text, name, values) => {
    expect([...(times(text)[name] as CronField).values]).toEqual(values);
  });
});

describe('descriptors', () => {
  test.each([
    ['@yearly', '0 0 1 1 *'],
    ['@annually', '0 0 1 1 *'],
    ['@monthly', '0 0 1 * *'],
    ['@weekly', '0 0 * * 0'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@hourly', '0 * * * *'],
  ])('%s is %s', (descriptor, fields) => {
    expect(parseSchedule(descriptor)).toEqual(parseSchedule(fields));
  });

  test.each([
    ['@every 1h30m', 5_400_000],
    ['@every 1500ms', 1000],
    ['@every 1ms', 1000],
  ])('%s', (text, everyMs) => {
    expect(parseSchedule(text)).toEqual({ everyMs });
  });
});

test.each([
  ['TZ=Asia/Tokyo 0 0 * * *', 'Asia/Tokyo'],
  ['CRON_TZ=UTC  @daily', 'UTC'],
])('%s names its time zone', (text, timeZone) => {
  expect(times(text)).toMatchObject({ timeZone });
});

test.each([
  ['', 'empty spec string'],
  ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
  ['* * * * * *', 'expected exactly 5 fields, found 6: [* * * * * *]'],
  ['error', 'expected exactly 5 fields, found 1: [error]'],
  ['60 * * * *', 'end of range (60) above maximum (59): 60'],
  ['* 24 * * *', 'end of range (24) above maximum (23): 24'],
  ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['* * 32 * *', 'end of range (32) above maximum (31): 32'],
  ['* * * 13 *', 'end of range (13) above maximum (12): 13'],
  ['* * * * 7', 'end of range (7) above maximum (6): 7'],
  ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
  ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ['*/ * * * *', 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'],
  ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
  ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
  ['a * * * *', 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
  ['mon * * * *', 'failed to parse int from mon: strconv.Atoi: parsing "mon": invalid syntax'],
  ['-1 * * * *', 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'],
  [
    '99999999999999999999 * * * *',
    'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
  ],
  ['@sometimes', 'unrecognized descriptor: @sometimes'],
  ['@every', 'unrecognized descriptor: @every'],
  ['@every day', 'failed to parse duration @every day: time: invalid duration "day"'],
  ['TZ=0', 'invalid schedule format: runtime error: slice bounds out of range [:-1]'],
  [
    'TZ=Mars/Olympus 0 0 * * *',
    'provided bad location Mars/Olympus: unknown time zone Mars/Olympus',
  ],
  ['TZ=UTC ', 'expected exactly 5 fields, found 0: []'],
])('%j: %s', (text, message) => {
  expect(() => parseSchedule(text)).toThrow(new Error(message));
});

test.each([
  ['UTC', true],
  ['GMT', true],
  ['Etc/GMT+1', true],
  ['Europe/Berlin', true],
  ['Europe/Kyiv', true],
  ['Europe/Kiev', true],
  ['Asia/Kolkata', true],
  ['Asia/Calcutta', true],
  ['US/Eastern', true],
  ['EST5EDT', true],
  ['America/Argentina/Buenos_Aires', true],
  ['America/New_york', false],
  ['america/new_york', false],
  ['us/eastern', false],
  ['Berlin', false],
  ['', false],
  ['constructor', false],
])('a time zone: %s %s', (name, known) => {
  expect(isTimeZone(name)).toBe(known);
});

test('ICU supports each of them', () => {
  for (const name of [
    'Africa/Asmara',
    'Etc/Zulu',
    'W-SU',
    'US/Indiana-Starke',
    'Pacific/Kanton',
    'MST7MDT',
  ]) {
    expect(isTimeZone(name)).toBe(true);
    expect(() => new Intl.DateTimeFormat('en', { timeZone: name })).not.toThrow();
  }
});
