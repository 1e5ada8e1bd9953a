// The short form of `npm run torture`, and the checker's own test.

import { describe, expect, test } from 'vitest';
import { isLinearizable, type KeyInput, type KeyOperation, type KeyOutput } from './checker.ts';
import { PARTS } from './suite.ts';

describe('torture', () => {
  for (const part of PARTS) {
    const missing = part.missing?.();
    test.skipIf(missing !== undefined)(
      missing === undefined ? part.name : `${part.name} (${missing})`,
      { timeout: 120_000 },
      async () => {
        const { problems } = await part.run({ short: true, seed: 'torture' });
        expect(problems).toEqual([]);
      },
    );
  }
});

describe('the checker', () => {
  const done = (read?: string): KeyOutput => ({
    type: 'done',
    ...(read !== undefined && { read }),
  });
  const put = (value: string): KeyInput => ({ type: 'put', value });
  const history = (
    ...operations: [called: number, returned: number, input: KeyInput, output: KeyOutput][]
  ): KeyOperation[] =>
    operations.map(([called, returned, input, output], client) => ({
      client,
      called,
      returned,
      input,
      output,
    }));
  const get: KeyInput = { type: 'get' };
  const unknown: KeyOutput = { type: 'unknown' };

  test.each([
    ['a read after a write', true, history([0, 1, put('a'), done()], [2, 3, get, done('a')])],
    ['a read that missed a write', false, history([0, 1, put('a'), done()], [2, 3, get, done('')])],
    [
      'a read beside a write sees either',
      true,
      history([0, 5, put('a'), done()], [1, 2, get, done('')], [3, 4, get, done('a')]),
    ],
    [
      'a value that comes and goes',
      false,
      history([0, 9, put('a'), done()], [1, 2, get, done('a')], [3, 4, get, done('')]),
    ],
    [
      'a write of unknown outcome may be done late',
      true,
      history([0, 1, put('a'), unknown], [2, 3, get, done('')], [4, 5, get, done('a')]),
    ],
    ['or never', true, history([0, 1, put('a'), unknown], [2, 3, get, done('')])],
    [
      'but not twice',
      false,
      history(
        [0, 1, put('a'), unknown],
        [2, 3, get, done('a')],
        [4, 5, put('b'), done()],
        [6, 7, get, done('a')],
      ),
    ],
    [
      'nor before it was asked for',
      false,
      history([0, 1, get, done('a')], [2, 3, put('a'), unknown]),
    ],
    [
      'two swaps of one value',
      false,
      history(
        [0, 1, put('a'), done()],
        [2, 5, { type: 'swap', expected: 'a', value: 'b' }, done()],
        [3, 6, { type: 'swap', expected: 'a', value: 'c' }, done()],
      ),
    ],
    [
      'one of two creates refused',
      true,
      history(
        [0, 3, { type: 'create', value: 'a' }, done()],
        [1, 2, { type: 'create', value: 'b' }, { type: 'refused' }],
      ),
    ],
    [
      'both creates refused',
      false,
      history(
        [0, 3, { type: 'create', value: 'a' }, { type: 'refused' }],
        [1, 2, { type: 'create', value: 'b' }, { type: 'refused' }],
      ),
    ],
    ['a delete of what was never there', false, history([0, 1, { type: 'delete' }, done()])],
  ])('%s: %s', (_, expected, operations) => {
    expect(isLinearizable(operations)).toBe(expected);
  });
});
