import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { QueueMetrics, RateLimitingQueue } from './index.ts';

test('a queue measures how long keys wait, and how long work on them takes', async () => {
  const clock = new VirtualClock();
  const metrics = new QueueMetrics<string>(clock);
  const queue = new RateLimitingQueue({ clock, metrics });
  queue.add('a');
  queue.add('b');
  queue.add('a');
  expect([metrics.adds, metrics.depth]).toEqual([2, 2]);
  await clock.advance('2s');
  await queue.get();
  expect([metrics.depth, metrics.waited.count, metrics.waited.sum]).toEqual([1, 1, 2]);
  // Added again while a worker has it: it waits, too.
  queue.add('a');
  await clock.advance('3s');
  expect([metrics.depth, metrics.unfinishedSeconds, metrics.longestRunningSeconds]).toEqual([
    2, 3, 3,
  ]);
  queue.done('a');
  expect([metrics.worked.count, metrics.worked.sum, metrics.unfinishedSeconds]).toEqual([1, 3, 0]);
  // Between one second and ten.
  expect(metrics.worked.counts.indexOf(1)).toBe(9);
  await queue.get();
  queue.done('b');
  await queue.get();
  queue.done('a');
  queue.addRateLimited('c');
  expect([metrics.retries, metrics.depth]).toEqual([1, 0]);
  await clock.advance('1s');
  expect([metrics.adds, metrics.depth]).toEqual([4, 1]);
  queue.shutDown();
});
