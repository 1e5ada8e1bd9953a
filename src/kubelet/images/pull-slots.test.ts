import { expect, test } from 'vitest';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { PullSlots } from './pull-slots.ts';

test('at most so many pulls run, and the others follow in their order', async () => {
  const slots = new PullSlots(2);
  const pulls = Array.from({ length: 4 }, () => withResolvers<string>());
  const started: number[] = [];
  const results = pulls.map(({ promise }, i) =>
    slots.run(() => {
      started.push(i);
      return promise;
    }),
  );
  expect(started).toEqual([0, 1]);
  pulls[1]!.resolve('b');
  expect(await results[1]).toBe('b');
  expect(started).toEqual([0, 1, 2]);
  // A pull that fails makes room, too.
  pulls[0]!.reject(new Error('no such image'));
  await expect(results[0]).rejects.toThrow('no such image');
  expect(started).toEqual([0, 1, 2, 3]);
  pulls[2]!.resolve('c');
  pulls[3]!.resolve('d');
  expect(await Promise.all(results.slice(2))).toEqual(['c', 'd']);
});
