import { expect, test } from 'vitest';

import { TurnGate } from './turn-gate.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Begins `count` pieces of work, and returns those that have begun. */
function begin(gate: TurnGate, count: number): number[] {
  const begun: number[] = [];
  for (let i = 0; i < count; i++) gate.begin(() => begun.push(i));
  return begun;
}

test('work begins at once while there is room', () => {
  expect(begin(new TurnGate(3), 3)).toEqual([0, 1, 2]);
});

test('the rest begins in the next turns, in order, a limited number in each', async () => {
  const begun = begin(new TurnGate(3), 8);
  expect(begun).toEqual([0, 1, 2]);
  await turn();
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  await turn();
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test('work that waits is not overtaken, even if there is room', async () => {
  const gate = new TurnGate(2);
  const begun: string[] = [];
  const add = (name: string): void => gate.begin(() => begun.push(name));
  for (const name of ['a', 'b', 'c', 'd', 'e']) add(name);
  await turn();
  add('f');
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  await turn();
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  add('g');
  await turn();
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
});

test('work that is started by waiting work waits as well', async () => {
  const gate = new TurnGate(2);
  let begun = 0;
  const again = (): void => {
    begun++;
    if (begun < 10) gate.begin(again);
  };
  gate.begin(again);
  expect(begun).toBe(2);
  await turn();
  expect(begun).toBeLessThanOrEqual(4);
  for (let i = 0; i < 10; i++) await turn();
  expect(begun).toBe(10);
});

test('after an idle time there is room again', async () => {
  const gate = new TurnGate(2);
  expect(begin(gate, 2)).toEqual([0, 1]);
  await turn();
  expect(begin(gate, 2)).toEqual([0, 1]);
});
