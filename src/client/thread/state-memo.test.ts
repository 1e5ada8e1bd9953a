import { expect, test, vi } from 'vitest';
import { noStateMemo, WeakStateMemo } from './state-memo.ts';

test('WeakStateMemo returns one object per state', () => {
  const memo = new WeakStateMemo();
  const parse = vi.fn(() => ({}));
  const first = memo.objectOf(1, parse);
  expect(memo.objectOf(1, parse)).toBe(first);
  expect(memo.objectOf(2, parse)).not.toBe(first);
  expect(parse).toHaveBeenCalledTimes(2);
  expect(memo.size).toBe(2);
});

test('noStateMemo parses each time', () => {
  const parse = (): object => ({});
  expect(noStateMemo.objectOf(1, parse)).not.toBe(noStateMemo.objectOf(1, parse));
});
