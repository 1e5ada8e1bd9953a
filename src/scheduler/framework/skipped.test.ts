import { expect, test } from 'vitest';
import { Remainder } from './skipped.ts';

test('returns the plugins without those that skip now, independent of earlier calls', () => {
  let made = 0;
  const remainder = new Remainder((skipped) => {
    made++;
    return ['a', 'b', 'c'].filter((name) => !skipped.has(name));
  });
  const left = (...skipped: string[]): string => remainder.of(skipped).join('');
  expect([left(), left('a'), left('a'), left('a', 'c'), left('b'), left()]).toEqual([
    'abc',
    'bc',
    'bc',
    'b',
    'ac',
    'abc',
  ]);
  expect(made).toBe(5);
});
