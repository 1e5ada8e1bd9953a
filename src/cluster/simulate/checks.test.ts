import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { checkAfterWrites } from './checks.ts';

async function started() {
  const clock = new VirtualClock();
  const storage = createMemoryStorage({ clock, logger: silentLogger });
  await clock.advance('10s');
  const times: number[] = [];
  const errors: unknown[] = [];
  const stop = checkAfterWrites({
    clock,
    storage,
    check: async () => {
      times.push(clock.monotonic() / 1000);
      if (times.length === 3) throw new Error('the third check');
    },
    onError: (error) => errors.push(error),
  });
  const write = (key: string) => storage.create(key, new Uint8Array());
  return { clock, storage, times, errors, stop, write };
}

test('checks at the full minute after a write, once for several writes', async () => {
  const { clock, times, write } = await started();
  await clock.advance('1h');
  expect(times).toEqual([]);
  await write('/registry/pods/default/a');
  await write('/registry/pods/default/b');
  await clock.advance('1h');
  expect(times).toEqual([3670]);
  await clock.advance('30s');
  await write('/registry/pods/default/c');
  await clock.advance('1h');
  expect(times).toEqual([3670, 7270]);
});

test('checks after a deletion, but not after heartbeats and events', async () => {
  const { clock, storage, times, write } = await started();
  await write('/registry/pods/default/a');
  await clock.advance('2m');
  expect(times).toHaveLength(1);
  await write('/registry/leases/kube-node-lease/node-1');
  await write('/registry/events/default/a.1');
  await clock.advance('2m');
  expect(times).toHaveLength(1);
  await storage.delete('/registry/pods/default/a');
  await clock.advance('2m');
  expect(times).toHaveLength(2);
});

test('reports a check that fails, and checks no more when it is stopped', async () => {
  const { clock, times, errors, stop, write } = await started();
  for (const name of ['a', 'b', 'c', 'd']) {
    await write(`/registry/pods/default/${name}`);
    if (name === 'd') stop();
    await clock.advance('1m');
  }
  expect(times).toHaveLength(3);
  expect(errors).toMatchObject([{ message: 'the third check' }]);
});
