import { describe, expect, test } from 'vitest';
import { IndexSet } from './index-set.ts';

const HUGE = '0-2147483645';

describe('texts', () => {
  test.each([
    ['', ''],
    ['0', '0'],
    ['0,1', '0,1'],
    ['0,1,2', '0-2'],
    ['5,0-2,9-10', '0-2,5,9,10'],
    ['3-5,4-9,1', '1,3-9'],
    ['x,-1,4-2,7', '7'],
    [HUGE, HUGE],
  ])('%j is %j', (text, normal) => expect(IndexSet.parse(text).toString()).toBe(normal));

  test('indexes from the limit on are left out', () =>
    expect(IndexSet.parse('0,3-9,12', 5).toString()).toBe('0,3,4'));
});

test('members', () => {
  const set = IndexSet.parse('1-3,7');
  expect([0, 1, 3, 4, 7, 8].map((index) => set.has(index))).toEqual([
    false,
    true,
    true,
    false,
    true,
    false,
  ]);
  expect([0, 1, 3, 5, 7].map((index) => set.nextAbsent(index))).toEqual([0, 4, 4, 5, 8]);
  expect(set.size).toBe(4);
});

test('other sets', () => {
  const set = IndexSet.of([4, 2, 3, 9]);
  expect(set.toString()).toBe('2-4,9');
  expect(set.with([5, 3, 0]).toString()).toBe('0,2-5,9');
  expect(set.without(IndexSet.parse('0-2,4,8-20')).toString()).toBe('3');
  expect(set.without(IndexSet.of([])).toString()).toBe('2-4,9');
  expect(IndexSet.parse('0-9').without(IndexSet.parse('0,3-5,9')).toString()).toBe('1,2,6-8');
});

test('two billion indexes take no time', () => {
  const set = IndexSet.parse(HUGE);
  expect(set.size).toBe(2_147_483_646);
  expect(set.with([2_147_483_646]).toString()).toBe('0-2147483646');
  expect(set.without(IndexSet.of([7])).toString()).toBe('0-6,8-2147483645');
  expect(set.nextAbsent(0)).toBe(2_147_483_646);
});
