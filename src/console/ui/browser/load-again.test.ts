import { expect, test, vi } from 'vitest';
import { TestClock } from '../testing/fake-server.ts';
import { loadAgain } from './load-again.ts';

const silent = (): void => undefined;

test('a load that fails is tried again', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(silent);
  const clock = new TestClock();
  let calls = 0;
  const loaded = loadAgain(async () => {
    calls += 1;
    if (calls < 3) throw new TypeError('network changed');
    return 'script';
  }, clock);
  await clock.advance(2000);
  expect(await loaded).toBe('script');
  expect(calls).toBe(3);
  expect(warn).toHaveBeenCalledTimes(2);
  warn.mockRestore();
});

test('a script that is never there is an error', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(silent);
  const clock = new TestClock();
  const loaded = loadAgain(async () => {
    throw new TypeError('gone');
  }, clock);
  const failed = expect(loaded).rejects.toThrow('gone');
  await clock.advance(60_000);
  await failed;
  warn.mockRestore();
});
