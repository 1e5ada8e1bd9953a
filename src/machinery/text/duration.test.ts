import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DurationError,
  formatDuration,
  formatDurationNanoseconds,
  humanDuration,
  parseDuration,
  parseDurationNanoseconds,
  toMilliseconds,
} from './duration.ts';

describe('parseDuration', () => {
  test.each([
    ['0', 0],
    ['5s', 5_000],
    ['30s', 30_000],
    ['1478s', 1_478_000],
    ['-5s', -5_000],
    ['+5s', 5_000],
    ['-0', 0],
    ['5.0s', 5_000],
    ['5.6s', 5_600],
    ['5.s', 5_000],
    ['.5s', 500],
    ['1.004s', 1_004],
    ['10ns', 0.00001],
    ['11us', 0.011],
    ['12µs', 0.012],
    ['12μs', 0.012],
    ['13ms', 13],
    ['14s', 14_000],
    ['15m', 900_000],
    ['16h', 57_600_000],
    ['3h30m', 12_600_000],
    ['10.5s4m', 250_500],
    ['1h15m30.918273645s', 4_530_918.273645],
    ['39h9m14.425s', 140_954_425],
  ])('%s', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  test.each([
    ['', 'time: invalid duration ""'],
    ['3', 'time: missing unit in duration "3"'],
    ['-', 'time: invalid duration "-"'],
    ['s', 'time: invalid duration "s"'],
    ['.', 'time: invalid duration "."'],
    ['.s', 'time: invalid duration ".s"'],
    ['+.s', 'time: invalid duration "+.s"'],
    ['1d', 'time: unknown unit "d" in duration "1d"'],
    ['1constructor', 'time: unknown unit "constructor" in duration "1constructor"'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
    ['3000000h', 'time: invalid duration "3000000h"'],
  ])('refuses %j', (text, message) => {
    expect(() => parseDuration(text)).toThrow(new DurationError(message));
  });

  test('keeps the whole range of 64 bits exactly', () => {
    expect(parseDurationNanoseconds('9223372036854775807ns')).toBe(9223372036854775807n);
    expect(parseDurationNanoseconds('-9223372036854775808ns')).toBe(-9223372036854775808n);
    expect(parseDurationNanoseconds('2562047h47m16.854775807s')).toBe(9223372036854775807n);
  });
});

describe('formatDuration', () => {
  test.each([
    [0n, '0s'],
    [1n, '1ns'],
    [1_100n, '1.1µs'],
    [2_200_000n, '2.2ms'],
    [3_300_000_000n, '3.3s'],
    [245_000_000_000n, '4m5s'],
    [245_001_000_000n, '4m5.001s'],
    [18_367_001_000_000n, '5h6m7.001s'],
    [480_000_000_001n, '8m0.000000001s'],
    [9223372036854775807n, '2562047h47m16.854775807s'],
    [-9223372036854775808n, '-2562047h47m16.854775808s'],
  ])('%d ns', (nanoseconds, text) => {
    expect(formatDurationNanoseconds(nanoseconds)).toBe(text);
  });

  test('parses its own output', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanoseconds) => {
        expect(parseDurationNanoseconds(formatDurationNanoseconds(nanoseconds))).toBe(nanoseconds);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (milliseconds) => {
        expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
      }),
    );
  });

  test('accepts fractions of a millisecond', () => {
    expect(formatDuration(1.5)).toBe('1.5ms');
    expect(formatDuration(-90_000)).toBe('-1m30s');
    expect(toMilliseconds('1m')).toBe(60_000);
    expect(toMilliseconds(7)).toBe(7);
  });
});

describe('humanDuration', () => {
  const second = 1000;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  test.each([
    [-2 * second, '<invalid>'],
    [-second, '0s'],
    [0, '0s'],
    [999, '0s'],
    [second, '1s'],
    [minute, '60s'],
    [2 * minute - 1, '119s'],
    [2 * minute, '2m'],
    [2 * minute + 5 * second, '2m5s'],
    [10 * minute + 5 * second, '10m'],
    [3 * hour - second, '179m'],
    [3 * hour, '3h'],
    [3 * hour + 5 * minute, '3h5m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [2 * day + 3 * hour, '2d3h'],
    [8 * day + 3 * hour, '8d'],
    [365 * day, '365d'],
    [2 * 365 * day - hour, '729d'],
    [2 * 365 * day, '2y'],
    [3 * 365 * day + 12 * day, '3y12d'],
    [8 * 365 * day + 30 * day, '8y'],
  ])('%d ms is %s', (milliseconds, text) => {
    expect(humanDuration(milliseconds)).toBe(text);
  });
});
