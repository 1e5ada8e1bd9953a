// Measures the memory of many pods in the core of the embedded engine, and in the watch cache in
// front of etcd. Runs in a process of its own, and prints JSON.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { WatchQueue } from '#machinery/watch.ts';
import type { KeyValue, Storage, StorageEvent } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { openWatchCache } from '#storage/watch-cache/index.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { everything, type Selection } from '#apiserver/registry/selection.ts';
import { podKey, podValue } from './objects.ts';

const PODS = 150_000;
const BYTES = 2048;
const PAGE = 5000;
const WATCHERS = 10_000;
const MB = 1024 * 1024;

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;
const selection: Selection = everything;

async function settled(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    gc();
    await systemClock.sleep(50);
  }
  return process.memoryUsage.rss() / MB;
}

/** Returns pods as etcd would answer: values that are views of whole messages. */
function listed(): KeyValue[] {
  const items: KeyValue[] = [];
  for (let page = 0; page < PODS; page += PAGE) {
    const values = Array.from({ length: PAGE }, (_, i) => Buffer.from(podValue(page + i, BYTES)));
    const message = Buffer.concat(values);
    let offset = 0;
    for (const [i, { length }] of values.entries()) {
      const revision = 2 + page + i;
      const value = message.subarray(offset, (offset += length));
      items.push({ key: podKey(page + i), value, createRevision: revision, modRevision: revision });
    }
  }
  return items.sort((a, b) => (a.key < b.key ? -1 : 1));
}

async function cached(): Promise<Storage> {
  const memory = createMemoryStorage({ clock: systemClock, logger: silentLogger });
  const revision = PODS + 1;
  const far: Storage = {
    get: (key, options) => memory.get(key, options),
    list: async () => ({ items: listed(), revision, remaining: 0 }),
    addIndex: (...args) => memory.addIndex(...args),
    count: async () => PODS,
    create: (...args) => memory.create(...args),
    guaranteedUpdate: (...args) => memory.guaranteedUpdate(...args),
    delete: (...args) => memory.delete(...args),
    watch: () => new WatchQueue<StorageEvent>(),
    compact: async () => undefined,
    currentRevision: async () => revision,
    health: async () => undefined,
    close: () => memory.close(),
  };
  return openWatchCache({
    storage: far,
    clock: systemClock,
    logger: silentLogger,
    prefix: '/registry/',
  });
}

async function direct(): Promise<Storage> {
  const storage = createMemoryStorage({ clock: systemClock, logger: silentLogger });
  for (let i = 0; i < PODS; i++) await storage.create(podKey(i), podValue(i, BYTES));
  return storage;
}

const storage = process.argv.includes('cache') ? await cached() : await direct();
const kept = await settled();
const server = await startTestServer({
  storage,
  clock: systemClock,
  detectMutations: false,
  start: false,
});
const pods = server.server.catalog.snapshot().get('', 'v1', 'pods');
const context = {
  user: { name: 'bench', groups: [] },
  namespace: '',
  signal: new AbortController().signal,
  warnings: [],
};
const list = await pods?.rest.list?.(context, {
  selection,
  limit: 0,
  continue: '',
  resourceVersion: '',
  resourceVersionMatch: '',
});
const count = list?.items.length ?? 0;
const served = await settled();
const options = {
  selection,
  resourceVersion: list?.resourceVersion ?? '',
  allowBookmarks: true,
  sendInitialEvents: undefined,
};
const watches = [];
for (let i = 0; i < WATCHERS; i++) watches.push(await pods?.rest.watch?.(context, options));
const watched = await settled();
console.log(JSON.stringify({ kept, served, watched, count, watchers: watches.length }));
process.exit(0);
