import { expect, test } from 'vitest';

import type { Awaitable } from './awaitable.ts';
import {
  nextTurn,
  runSteps,
  runStepsInTurns,
  runWaitingSteps,
  waitFor,
  type Steps,
  type WaitingSteps,
} from './turn.ts';

function* sum(values: readonly number[], onStep: (value: number) => void): Steps<number> {
  let total = 0;
  for (const value of values) {
    onStep(value);
    total += value;
    yield;
  }
  return total;
}

test('runSteps runs all steps in one turn', () => {
  const seen: number[] = [];
  expect(runSteps(sum([1, 2, 3], (value) => seen.push(value)))).toBe(6);
  expect(seen).toEqual([1, 2, 3]);
});

test('runStepsInTurns runs one step in each turn of the event loop', async () => {
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

function* sumOf(values: readonly Awaitable<number>[]): WaitingSteps<number> {
  let total = 0;
  for (const value of values) {
    total += yield* waitFor(value);
    yield;
  }
  return total;
}

test('runWaitingSteps returns the result at once if no step waits', () => {
  expect(runWaitingSteps(sumOf([1, 2, 3]))).toBe(6);
});

test.each([
  ['runWaitingSteps', runWaitingSteps],
  ['runStepsInTurns', runStepsInTurns],
] as const)('%s waits for the values of steps', async (_, run) => {
  const later = nextTurn().then(() => 2);
  const result = run(sumOf([1, later, Promise.resolve(3), 4]));
  expect(result).toBeInstanceOf(Promise);
  expect(await result).toBe(10);
});

test.each([
  ['runWaitingSteps', runWaitingSteps],
  ['runStepsInTurns', runStepsInTurns],
] as const)('%s throws into the steps what a value is rejected with', async (_, run) => {
  function* steps(): WaitingSteps<number> {
    try {
      return yield* sumOf([Promise.reject(new Error('gone'))]);
    } catch (error) {
      return yield* waitFor(Promise.resolve((error as Error).message.length));
    }
  }
  expect(await run(steps())).toBe(4);
  await expect((async () => run(sumOf([Promise.reject(new Error('gone'))])))()).rejects.toThrow(
    'gone',
  );
});
