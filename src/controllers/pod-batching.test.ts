import { expect, test } from 'vitest';
import { PodBatching } from './pod-batching.ts';

test('the delay grows with the number of pods, up to a limit', () => {
  const batching = new PodBatching();
  expect(batching.delayMs('a/web')).toBe(0);
  batching.record('a/web', 9);
  expect(batching.delayMs('a/web')).toBe(0);
  batching.record('a/web', 100);
  expect(batching.delayMs('a/web')).toBe(10);
  batching.record('a/web', 100_000);
  expect(batching.delayMs('a/web')).toBe(200);
  batching.forget('a/web');
  expect(batching.delayMs('a/web')).toBe(0);
});
