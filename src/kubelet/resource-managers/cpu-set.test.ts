import { expect, test } from 'vitest';
import { CpuSetError, formatCpuSet, isSameSet, parseCpuSet } from './cpu-set.ts';

test.each([
  ['', []],
  ['0', [0]],
  ['0-3,8', [0, 1, 2, 3, 8]],
  ['8,0-1,3', [0, 1, 3, 8]],
])('the list %j is parsed', (text, ids) => {
  expect([...parseCpuSet(text)].toSorted((a, b) => a - b)).toEqual(ids);
});

test.each(['a', '1-', '-1', '3-1', '0,,1', '0-99999999', ' 1'])('%j is no list', (text) => {
  expect(() => parseCpuSet(text)).toThrow(CpuSetError);
});

test('a set is written with ranges', () => {
  expect(formatCpuSet(new Set([5, 0, 1, 2, 7, 8]))).toBe('0-2,5,7-8');
  expect(formatCpuSet(new Set())).toBe('');
});

test('sets are compared by their members', () => {
  expect(isSameSet(new Set([1, 2]), new Set([2, 1]))).toBe(true);
  expect(isSameSet(new Set([1, 2]), new Set([2]))).toBe(false);
});
