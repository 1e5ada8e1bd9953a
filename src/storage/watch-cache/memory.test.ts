// Upper bounds for the memory of an object and of a watcher. Benchmarks measure the figures; this
// test detects an additional copy.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { createMemoryStorage } from '../memory/index.ts';
import { openWatchCache } from './index.ts';

const OBJECTS = 10_000;
const VALUE_BYTES = 2048;
const WATCHERS = 5000;
/** A key, its place in the tree, its revisions, and the overhead of a buffer. */
const OBJECT_OVERHEAD_BYTES = 1000;
const WATCHER_BYTES = 2500;

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

async function used(): Promise<number> {
  // Finalizers release memory that only the next collection frees.
  for (let i = 0; i < 3; i++) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('an object is in memory once for store and cache, and a watcher is small', async () => {
  const clock = new VirtualClock();
  const before = await used();
  const storage = createMemoryStorage({ clock, logger: silentLogger });
  const key = (i: number): string =>
    `/registry/pods/namespace-${i % 100}/pod-${String(i).padStart(6, '0')}`;
  for (let i = 0; i < OBJECTS; i++)
    await storage.create(key(i), new Uint8Array(VALUE_BYTES).fill(i % 256));
  await storage.compact(await storage.currentRevision());
  const stored = await used();
  expect((stored - before) / OBJECTS).toBeLessThan(VALUE_BYTES + OBJECT_OVERHEAD_BYTES);

  // The store and the cache share the bytes of a value.
  const cache = await openWatchCache({ clock, logger: silentLogger, storage });
  const cached = await used();
  expect(cache.sizes.objects).toBe(OBJECTS);
  expect((cached - stored) / OBJECTS).toBeLessThan(OBJECT_OVERHEAD_BYTES);

  // The history is bounded, however many writes there are.
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < OBJECTS; i++) {
      await cache.guaranteedUpdate(key(i), () => ({
        action: 'put',
        value: new Uint8Array(VALUE_BYTES),
      }));
    }
    await storage.compact(await storage.currentRevision());
  }
  await cache.list('/registry/nothing/');
  const updated = await used();
  expect(cache.sizes.events).toBeLessThanOrEqual(10_000);
  expect(updated - cached).toBeLessThan(10_000 * (VALUE_BYTES + OBJECT_OVERHEAD_BYTES));

  const watches = Array.from({ length: WATCHERS }, (_, i) =>
    cache.watch(`/registry/pods/namespace-${i % 100}/`),
  );
  expect(((await used()) - updated) / WATCHERS).toBeLessThan(WATCHER_BYTES);
  for (const watch of watches) watch.stop();
  await cache.close();
});
