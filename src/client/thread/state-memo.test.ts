import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { ListedStates, noStateMemo } from './state-memo.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Collects garbage in a turn of its own, since a turn keeps what its weak references have returned. */
async function collect(): Promise<void> {
  await setImmediate();
  collectGarbage();
}

test('ListedStates returns one object per state', () => {
  const memo = new ListedStates();
  const parse = vi.fn(() => ({}));
  const first = memo.objectOf(1, parse);
  expect(memo.objectOf(1, parse)).toBe(first);
  expect(memo.objectOf(2, parse)).not.toBe(first);
  expect(parse).toHaveBeenCalledTimes(2);
});

test('ListedStates has the objects of lists while one arrives, and then until garbage is collected', async () => {
  const memo = new ListedStates();
  const parse = vi.fn(() => ({}));
  memo.objectOf(1, parse);
  const ends = [memo.listBegins(), memo.listBegins()];
  memo.objectOf(2, parse);
  await collect();
  for (const revision of [1, 2]) memo.objectOf(revision, parse);
  expect(parse).toHaveBeenCalledTimes(2);
  ends[0]!();
  await collect();
  memo.objectOf(2, parse);
  expect(parse).toHaveBeenCalledTimes(2);
  ends[1]!();
  memo.objectOf(2, parse);
  expect(parse).toHaveBeenCalledTimes(2);
  await collect();
  for (const revision of [1, 2]) memo.objectOf(revision, parse);
  expect(parse).toHaveBeenCalledTimes(4);
});

test('noStateMemo parses each time', () => {
  const parse = (): object => ({});
  expect(noStateMemo.objectOf(1, parse)).not.toBe(noStateMemo.objectOf(1, parse));
  expect(() => noStateMemo.listBegins()()).not.toThrow();
});
