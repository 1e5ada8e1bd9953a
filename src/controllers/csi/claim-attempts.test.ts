// When an attempt to change a volume is repeated.

import { expect, test } from 'vitest';
import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { ClaimAttempts } from './claim-attempts.ts';

const signal = new AbortController().signal;

function setUp() {
  const clock = new VirtualClock();
  const attempts = new ClaimAttempts(clock);
  const failures: string[] = [];
  const state = { error: undefined as Error | undefined, runs: 0, isInfeasible: true };
  const claim = { metadata: { name: 'c', uid: 'u' } } as PersistentVolumeClaim;
  const make = (wanted: string) =>
    attempts.make(
      claim,
      {
        wanted,
        run: () => {
          state.runs++;
          return state.error === undefined ? Promise.resolve() : Promise.reject(state.error);
        },
        onFailed: (message) => failures.push(message),
        isInfeasible: () => state.isInfeasible,
      },
      signal,
    );
  return { clock, attempts, failures, state, make };
}

test('an impossible attempt is repeated after five minutes, or for something else', async () => {
  const { clock, failures, state, make } = setUp();
  state.error = new Error('no');
  await make('a');
  await make('a');
  expect([state.runs, failures]).toEqual([1, ['no']]);
  await make('b');
  expect(state.runs).toBe(2);
  await clock.advance('4m');
  await make('b');
  expect(state.runs).toBe(2);
  await clock.advance('1m');
  await make('b');
  expect(state.runs).toBe(3);
});

test('another failure is repeated with back-off, and a conflict is no failure', async () => {
  const { failures, state, make } = setUp();
  state.isInfeasible = false;
  state.error = new Error('busy');
  await expect(make('a')).rejects.toThrow('busy');
  await expect(make('a')).rejects.toThrow('busy');
  expect(failures).toEqual(['busy', 'busy']);
  state.error = apierrors.conflict({ group: '', resource: 'x' }, 'c', 'changed');
  await make('a');
  expect([state.runs, failures.length]).toEqual([3, 2]);
});

test('the state of a claim that is gone is dropped', async () => {
  const { attempts, state, make } = setUp();
  state.error = new Error('no');
  await make('a');
  attempts.forget('u');
  await make('a');
  expect(state.runs).toBe(2);
});
