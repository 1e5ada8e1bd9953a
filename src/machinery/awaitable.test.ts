import { expect, test } from 'vitest';
import { andThen } from './awaitable.ts';

const refuse = (): never => {
  throw new Error('no');
};

test('an available value is used synchronously', () => {
  expect(andThen(2, (value) => value + 1)).toBe(3);
  expect(() => andThen(2, refuse)).toThrow('no');
});

test('a promise is awaited', async () => {
  const answer = andThen(Promise.resolve(2), (value) => value + 1);
  expect(answer).toBeInstanceOf(Promise);
  await expect(answer).resolves.toBe(3);
  await expect(andThen(Promise.resolve(2), refuse)).rejects.toThrow('no');
});
