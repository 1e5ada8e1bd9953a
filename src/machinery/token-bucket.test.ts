import { expect, test } from 'vitest';
import { VirtualClock } from './clock.ts';
import { TokenBucket } from './token-bucket.ts';

test('a bucket fills with time', async () => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket({ clock, perSecond: 10, burst: 2 });
  expect([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()]).toEqual([true, true, false]);
  await clock.advance('100ms');
  expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
});
