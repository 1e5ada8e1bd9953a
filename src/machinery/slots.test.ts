import { expect, test } from 'vitest';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { Slots } from './slots.ts';

test('at most so many run, and the others follow in their order', async () => {
  const slots = new Slots(2);
  const works = Array.from({ length: 4 }, () => withResolvers<string>());
  const started: number[] = [];
  const results = works.map(({ promise }, i) =>
    slots.run(() => {
      started.push(i);
      return promise;
    }),
  );
  expect(started).toEqual([0, 1]);
  works[1]!.resolve('b');
  expect(await results[1]).toBe('b');
  expect(started).toEqual([0, 1, 2]);
  // Work that fails makes room, too.
  works[0]!.reject(new Error('no such thing'));
  await expect(results[0]).rejects.toThrow('no such thing');
  expect(started).toEqual([0, 1, 2, 3]);
  works[2]!.resolve('c');
  works[3]!.resolve('d');
  expect(await Promise.all(results.slice(2))).toEqual(['c', 'd']);
});
