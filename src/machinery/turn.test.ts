import { expect, test } from 'vitest';

import { runSteps, runStepsInTurns } from './turn.ts';
import type { Steps } from './turn.ts';

function* sum(values: readonly number[], onStep: (value: number) => void): Steps<number> {
  let total = 0;
  for (const value of values) {
    onStep(value);
    total += value;
    yield;
  }
  return total;
}

test('runSteps does all steps at once', () => {
  const seen: number[] = [];
  expect(runSteps(sum([1, 2, 3], (value) => seen.push(value)))).toBe(6);
  expect(seen).toEqual([1, 2, 3]);
});

test('runStepsInTurns does one step in each turn of the event loop', async () => {
  const order: string[] = [];
  const other = (): void => {
    order.push('other');
    if (order.length < 6) setImmediate(other);
  };
  setImmediate(other);
  const total = await runStepsInTurns(sum([1, 2, 3], (value) => order.push(`step ${value}`)));
  expect(total).toBe(6);
  expect(order.slice(0, 5)).toEqual(['step 1', 'other', 'step 2', 'other', 'step 3']);
});

test('runStepsInTurns rejects with the error of a step', async () => {
  const failing = sum([1, 2], (value) => {
    if (value === 2) throw new Error('step 2 failed');
  });
  await expect(runStepsInTurns(failing)).rejects.toThrow('step 2 failed');
});
