import { describe, expect, test } from 'vitest';
import {
  formatMicroTime,
  formatTime,
  normalizeMicroTime,
  normalizeTime,
  parseTime,
} from './time.ts';

const MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

describe('formatTime', () => {
  test('cuts off fractions of a second, also before 1970', () => {
    expect([MS, MS + 321, MS + 322].map(formatTime)).toEqual([
      '2026-01-02T03:04:05Z',
      '2026-01-02T03:04:05Z',
      '2026-01-02T03:04:06Z',
    ]);
    expect([0, -1, 999].map(formatTime)).toEqual([
      '1970-01-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      '1970-01-01T00:00:00Z',
    ]);
  });
});

describe('formatMicroTime', () => {
  test('has six digits, the last three of them 0', () => {
    expect([MS, MS + 0.9].map(formatMicroTime)).toEqual([
      '2026-01-02T03:04:05.678000Z',
      '2026-01-02T03:04:05.678000Z',
    ]);
  });
});

describe('parseTime', () => {
  test('parses both forms, and returns undefined without a time', () => {
    expect(
      ['2026-01-02T03:04:05Z', formatMicroTime(MS), '', null, undefined, 'soon'].map(parseTime),
    ).toEqual([MS - 678, MS, undefined, undefined, undefined, undefined]);
  });
});

describe('times that clients send', () => {
  test('are normalized to UTC; the zero time is none', () => {
    expect(['2026-01-02T04:04:05.6+01:00', '0001-01-01T00:00:00Z'].map(normalizeTime)).toEqual([
      '2026-01-02T03:04:05Z',
      undefined,
    ]);
    expect(normalizeMicroTime('2026-01-02T03:04:05.000001Z')).toBe('2026-01-02T03:04:05.000001Z');
    expect(() => normalizeTime('2026-13-02T03:04:05Z')).toThrow('month out of range');
  });
});
