import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { TokenBucket } from '#machinery/token-bucket.ts';
import { DelayingQueue } from './delaying-queue.ts';
import {
  BucketRateLimiter,
  ExponentialRateLimiter,
  MaxOfRateLimiters,
  defaultControllerRateLimiter,
} from './rate-limiter.ts';
import { RateLimitingQueue } from './rate-limiting-queue.ts';

describe('DelayingQueue', () => {
  test('adds a key after its delay, the shorter one if there are two', async () => {
    const clock = new VirtualClock();
    const queue = new DelayingQueue({ clock });
    queue.addAfter('late', 1000);
    queue.addAfter('soon', 100);
    queue.addAfter('late', 500);
    queue.addAfter('soon', 800);
    queue.addAfter('now', 0);
    expect(queue.length).toBe(1);
    await clock.advance(99);
    expect(queue.length).toBe(1);
    await clock.advance(1);
    expect(queue.length).toBe(2);
    await clock.advance(400);
    expect(queue.length).toBe(3);
    await clock.advance(10_000);
    expect(queue.length).toBe(3);
    expect(clock.pendingTimers).toBe(0);
    expect([await queue.get(), await queue.get(), await queue.get()]).toEqual([
      'now',
      'soon',
      'late',
    ]);
  });

  test('drops waiting keys when it shuts down', async () => {
    const clock = new VirtualClock();
    const queue = new DelayingQueue({ clock });
    queue.addAfter('a', 1000);
    queue.shutDown();
    queue.addAfter('b', 1000);
    expect(clock.pendingTimers).toBe(0);
    expect(await queue.get()).toBeUndefined();
  });
});

describe('rate limiters', () => {
  test('double the delay of a key at each failure up to the maximum, for each key separately', () => {
    const limiter = new ExponentialRateLimiter<string>();
    expect([1, 2, 3, 4].map(() => limiter.when('a'))).toEqual([5, 10, 20, 40]);
    expect(limiter.when('b')).toBe(5);
    expect(limiter.retries('a')).toBe(4);
    for (let i = 0; i < 2000; i++) limiter.when('a');
    expect(limiter.when('a')).toBe(1_000_000);
    limiter.forget('a');
    expect(limiter.when('a')).toBe(5);
  });

  test('allow a burst, then keys at the rate of the bucket', async () => {
    const clock = new VirtualClock();
    const limiter = new BucketRateLimiter<string>(
      new TokenBucket({ clock, perSecond: 10, burst: 3 }),
    );
    expect([1, 2, 3, 4, 5].map(() => limiter.when())).toEqual([0, 0, 0, 100, 200]);
    await clock.advance(1000);
    expect(limiter.when()).toBe(0);
    const bucket = new TokenBucket({ clock, perSecond: 1, burst: 1 });
    expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
    await clock.advance(1000);
    expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
  });

  test('combine to the longest delay', () => {
    const clock = new VirtualClock();
    const limiter = new MaxOfRateLimiters<string>([
      new ExponentialRateLimiter({ baseMs: 50, maxMs: 1000 }),
      new BucketRateLimiter(new TokenBucket({ clock, perSecond: 10, burst: 1 })),
    ]);
    expect([limiter.when('a'), limiter.when('b')]).toEqual([50, 100]);
    expect(limiter.retries('a')).toBe(1);
    const usual = defaultControllerRateLimiter<string>(clock);
    expect(Array.from({ length: 101 }, (_, i) => usual.when(String(i))).at(-1)).toBe(100);
  });
});

describe('RateLimitingQueue', () => {
  test('delays failed keys longer each time until they are forgotten', async () => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue({ clock });
    queue.addRateLimited('a');
    await clock.advance(4);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(await queue.get()).toBe('a');
    queue.done('a');
    queue.addRateLimited('a');
    await clock.advance(9);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
    expect(queue.numRequeues('a')).toBe(2);
    queue.forget('a');
    expect(queue.numRequeues('a')).toBe(0);
  });
});
