import { expect, test } from 'vitest';
import { andThen } from './awaitable.ts';

const refuse = (): never => {
  throw new Error('no');
};

test('what is there is gone on with at once', () => {
  expect(andThen(2, (value) => value + 1)).toBe(3);
  expect(() => andThen(2, refuse)).toThrow('no');
});

test('what is still to come is waited for', async () => {
  const answer = andThen(Promise.resolve(2), (value) => value + 1);
  expect(answer).toBeInstanceOf(Promise);
  await expect(answer).resolves.toBe(3);
  await expect(andThen(Promise.resolve(2), refuse)).rejects.toThrow('no');
});
