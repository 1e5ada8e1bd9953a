import { expect, test } from 'vitest';
import { VirtualClock } from './clock.ts';
import { CountingClock } from './counting-clock.ts';

test('counts timers until they fire or are cancelled', async () => {
  const inner = new VirtualClock();
  const clock = new CountingClock(inner);
  const fired: string[] = [];
  clock.setTimer(10, () => fired.push(`timer, ${clock.pending} left`));
  const cancelled = clock.setTimer(10, () => fired.push('never'));
  const interval = clock.setInterval(4, () => undefined);
  expect(clock.pending).toBe(3);
  cancelled.cancel();
  cancelled.cancel();
  expect(clock.pending).toBe(2);
  await inner.advance(10);
  expect(fired).toEqual(['timer, 1 left']);
  interval.cancel();
  expect(clock.pending).toBe(0);
});

test('counts sleeps until they end or are aborted', async () => {
  const inner = new VirtualClock();
  const clock = new CountingClock(inner);
  const stop = new AbortController();
  const slept = clock.sleep(5);
  const aborted = clock.sleep(50, stop.signal);
  expect(clock.pending).toBe(2);
  await inner.advance(5);
  await slept;
  expect(clock.pending).toBe(1);
  stop.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  expect(clock.pending).toBe(0);
});
