import { expect, test } from 'vitest';
import { withResolvers } from './with-resolvers.ts';

test('resolve and reject settle the promise', async () => {
  const kept = withResolvers<number>();
  kept.resolve(1);
  await expect(kept.promise).resolves.toBe(1);
  const broken = withResolvers();
  broken.reject(new Error('it broke'));
  await expect(broken.promise).rejects.toThrow('it broke');
});
