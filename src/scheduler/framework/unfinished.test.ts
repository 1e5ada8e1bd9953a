import { expect, test } from 'vitest';
import { Unfinished, untilFinished } from './unfinished.ts';

test('work that finishes at once stays synchronous', () => {
  expect(untilFinished(() => 'done')).toBe('done');
  expect(() =>
    untilFinished(() => {
      throw new RangeError('wrong');
    }),
  ).toThrow(RangeError);
});

test('unfinished work is repeated in later turns of the event loop', async () => {
  let turn = 0;
  let stopped = false;
  const count = (): void => {
    turn++;
    if (!stopped) setImmediate(count);
  };
  setImmediate(count);
  const turns: number[] = [];
  const result = await untilFinished(() => {
    turns.push(turn);
    if (turns.length < 4) throw new Unfinished();
    return turns.length;
  });
  stopped = true;
  expect(result).toBe(4);
  expect(new Set(turns).size).toBe(4);
});

test('an error of repeated work rejects', async () => {
  let calls = 0;
  const work = (): never => {
    if (calls++ === 0) throw new Unfinished();
    throw new RangeError('wrong');
  };
  await expect(untilFinished(work)).rejects.toThrow(RangeError);
});

test('asynchronous work is repeated, too', async () => {
  let calls = 0;
  const result = await untilFinished(async () => {
    await Promise.resolve();
    if (calls++ < 2) throw new Unfinished();
    return 'done';
  });
  expect([result, calls]).toEqual(['done', 3]);
});
