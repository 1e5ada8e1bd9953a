import { expect, test } from 'vitest';
import { parsePressure, pressureOf } from './pressure-stall.ts';

const none = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

test('the kernel’s file is read: times are microseconds', () => {
  const text =
    'some avg10=1.50 avg60=0.25 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.01 total=7\n';
  expect(parsePressure(text)).toEqual({
    some: { total: 12_000, avg10: 1.5, avg60: 0.25, avg300: 0 },
    full: { total: 7000, avg10: 0, avg60: 0, avg300: 0.01 },
  });
});

test('a missing line has zeroes; a file without lines has no information', () => {
  expect(parsePressure('some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n')).toMatchObject({
    some: { total: 1000 },
    full: none,
  });
  expect(parsePressure('')).toBeUndefined();
  expect(parsePressure('some total=x')).toBeUndefined();
});

test('the runtime’s information has the same form', () => {
  const psi = { Some: { Total: 5, Avg10: 1, Avg60: 2, Avg300: 3 } };
  expect(pressureOf(psi)).toEqual({
    some: { total: 5, avg10: 1, avg60: 2, avg300: 3 },
    full: none,
  });
  expect(pressureOf(undefined)).toBeUndefined();
});
