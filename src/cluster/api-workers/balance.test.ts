import { expect, test } from 'vitest';
import { Balance } from './balance.ts';

/** Feeds so many periods of the same load, and returns the last decision. */
function feed(balance: Balance, periods: number, loads: readonly number[]): readonly number[] {
  let shares: readonly number[] = [];
  for (let i = 0; i < periods; i++) shares = balance.next(loads);
  return shares.map((share) => Math.round(share * 100) / 100);
}

test.each<[loads: readonly number[], shares: readonly number[]]>([
  [[], []],
  [[1], [0]],
  [
    [1, 1, 1],
    [0, 0, 0],
  ],
  [
    [1, 0.5],
    [0.25, 0],
  ],
  [
    [0.2, 0.9, 0.1],
    [0, 0.56, 0],
  ],
  [
    [0.9, 0.1, 0.9, 0.1],
    [0.44, 0, 0.44, 0],
  ],
  [
    [0.6, 0.1],
    [0, 0],
  ],
  [
    [0.9, 0.6],
    [0, 0],
  ],
])('processes with the loads %j give up %j of their connections', (loads, shares) => {
  expect(feed(new Balance(), 5, loads)).toEqual(shares);
});

test('a decision is made after five periods, and the next one after five more', () => {
  const balance = new Balance();
  expect(feed(balance, 4, [1, 0])).toEqual([0, 0]);
  expect(feed(balance, 1, [1, 0])).toEqual([0.5, 0]);
  expect(feed(balance, 4, [1, 0])).toEqual([0, 0]);
  expect(feed(balance, 1, [1, 0])).toEqual([0.5, 0]);
});

test('a peak, and another number of processes, begin anew', () => {
  const balance = new Balance();
  expect([1, 0.2, 1, 0.2, 0.2].map((load) => balance.next([load, 0])[0])).toEqual([0, 0, 0, 0, 0]);
  expect(feed(balance, 4, [1, 0])).toEqual([0, 0]);
  expect(feed(balance, 4, [1, 0, 0])).toEqual([0, 0, 0]);
  expect(feed(balance, 1, [1, 0, 0])).toEqual([0.67, 0, 0]);
});
