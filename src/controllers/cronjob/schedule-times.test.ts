import { describe, expect, test } from 'vitest';
import { parseSchedule } from '#api/groups/batch/v1/schedule.ts';
import { missedTimes, nextTime } from './schedule-times.ts';

const next = (schedule: string, after: string, zone?: string): string | undefined => {
  const at = nextTime(parseSchedule(schedule), Date.parse(after), zone);
  return at === undefined ? undefined : new Date(at).toISOString().slice(0, 16);
};

describe('nextTime', () => {
  test.each([
    ['* * * * *', '2026-01-01T00:00:00Z', '2026-01-01T00:01'],
    ['*/15 * * * *', '2026-01-01T00:59:59Z', '2026-01-01T01:00'],
    ['5,35 10-12 * * *', '2026-01-01T12:35:00Z', '2026-01-02T10:05'],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00'],
    ['0 0 30 2 *', '2026-01-01T00:00:00Z', undefined],
    ['0 9 * * mon', '2026-01-01T00:00:00Z', '2026-01-05T09:00'],
    // If both day fields are restricted, a day has to match only one of them.
    ['0 0 13 * fri', '2026-01-01T00:00:00Z', '2026-01-02T00:00'],
    ['0 0 31 * *', '2026-02-01T00:00:00Z', '2026-03-31T00:00'],
    ['@monthly', '2026-12-15T00:00:00Z', '2027-01-01T00:00'],
    ['@every 90m', '2026-01-01T00:00:30Z', '2026-01-01T01:30'],
  ])('%s after %s', (schedule, after, expected) => {
    expect(next(schedule, after)).toBe(expected);
  });

  test.each([
    // New York: summer time begins on 8 March 2026 at 2:00 and ends on 1 November at 2:00.
    ['0 9 * * *', '2026-03-07T20:00:00Z', '2026-03-08T13:00'],
    ['30 1 * * *', '2026-03-08T00:00:00Z', '2026-03-08T06:30'],
    // 2:30 does not exist on that day.
    ['30 2 * * *', '2026-03-08T06:00:00Z', '2026-03-09T06:30'],
    ['0 * * * *', '2026-03-08T06:30:00Z', '2026-03-08T07:00'],
    ['0 0 * * *', '2026-11-01T05:00:00Z', '2026-11-02T05:00'],
    // An hourly schedule is due in each of the two hours that the clock repeats.
    ['0 * * * *', '2026-11-01T05:00:00Z', '2026-11-01T06:00'],
    ['0 0 1 * *', '2026-03-15T00:00:00Z', '2026-04-01T04:00'],
  ])('%s after %s in New York', (schedule, after, expected) => {
    expect(next(schedule, after, 'America/New_York')).toBe(expected);
  });

  test('a day that begins at one o’clock', () => {
    // Cairo goes to summer time at midnight: 24 April 2026 begins at 1:00.
    expect(next('0 1 * * *', '2026-04-23T12:00:00Z', 'Africa/Cairo')).toBe('2026-04-23T22:00');
    expect(next('0 0 * * *', '2026-04-23T12:00:00Z', 'Africa/Cairo')).toBe('2026-04-24T21:00');
  });
});

describe('missedTimes', () => {
  const missed = (schedule: string, from: string, until: string) => {
    const { last, count, many } = missedTimes(
      parseSchedule(schedule),
      Date.parse(from),
      Date.parse(until),
    );
    return [
      last === undefined ? undefined : new Date(last).toISOString().slice(0, 16),
      count,
      many,
    ];
  };
  test('are counted up to a hundred, and the last one is returned in any case', () => {
    expect(missed('0 * * * *', '2026-01-01T00:00:00Z', '2026-01-01T00:59:00Z')).toEqual([
      undefined,
      0,
      false,
    ]);
    expect(missed('0 * * * *', '2026-01-01T00:00:00Z', '2026-01-01T02:30:00Z')).toEqual([
      '2026-01-01T02:00',
      2,
      false,
    ]);
    expect(missed('* * * * *', '2026-01-01T00:00:00Z', '2027-01-01T00:00:30Z')).toEqual([
      '2027-01-01T00:00',
      100,
      true,
    ]);
    expect(missed('0 0 1 * *', '2000-01-01T00:00:00Z', '2026-01-15T00:00:00Z')).toEqual([
      '2026-01-01T00:00',
      100,
      true,
    ]);
  });
});
