// Measures the storage engines: `npx tsx bench/storage/bench.ts [memory|embedded]…`. Prints one
// line per figure.
//
//
//
// The embedded engine writes to a directory under --dir (default: the system's temporary directory,
// which must be on a real disk for the figures to mean anything).

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { openEmbeddedStorage } from '#storage/embedded/index.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';

const VALUE_BYTES = 1024;
const LIST_ITEMS = 24_000;
const RELOAD_ITEMS = 100_000;
const WATCHERS = 1000;
const IDLE_WATCHERS = 10_000;

const clock = systemClock;
const { values: options, positionals } = parseArgs({
  options: { dir: { type: 'string' } },
  allowPositionals: true,
});
const engines = positionals.length > 0 ? positionals : ['memory', 'embedded'];

function report(engine: string, what: string, figure: number, unit: string): void {
  const digits = figure < 100 ? 1 : 0;
  console.log(
    `${engine.padEnd(10)}${what.padEnd(44)}` +
      `${figure.toLocaleString('en', { maximumFractionDigits: digits }).padStart(12)} ${unit}`,
  );
}

/**
 * Returns a value with its own buffer, as a server would hand in: not a piece of a larger buffer.
 */
function newValue(): Uint8Array {
  return new Uint8Array(VALUE_BYTES).fill(97);
}

let serial = 0;
function newKey(kind: string): string {
  return `/registry/${kind}/default/object-${String(serial++).padStart(9, '0')}`;
}

async function rate(
  operations: number,
  writers: number,
  run: () => Promise<unknown>,
): Promise<number> {
  const began = clock.monotonic();
  let left = operations;
  const loop = async (): Promise<void> => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: writers }, loop));
  return operations / ((clock.monotonic() - began) / 1000);
}

async function measure(name: string, storage: Storage, durable: boolean): Promise<void> {
  const writes = durable ? 3000 : 50_000;
  await rate(500, 8, () => storage.create(newKey('warm'), newValue()));
  report(
    name,
    'creates, 1 writer',
    await rate(writes, 1, () => storage.create(newKey('one'), newValue())),
    '/s',
  );
  report(
    name,
    'creates, 64 writers',
    await rate(writes * 8, 64, () => storage.create(newKey('many'), newValue())),
    '/s',
  );
  const update = (): Promise<unknown> =>
    storage.guaranteedUpdate(`/registry/hot/default/${serial++ % 256}`, () => ({
      action: 'put',
      value: newValue(),
    }));
  report(name, 'updates of 256 keys, 64 writers', await rate(writes * 8, 64, update), '/s');

  const keys = Array.from({ length: LIST_ITEMS }, () => newKey('listed'));
  await Promise.all(keys.map((key) => storage.create(key, newValue())));
  let next = 0;
  report(
    name,
    'gets',
    await rate(500_000, 1, () => storage.get(keys[(next += 7919) % LIST_ITEMS] ?? '')),
    '/s',
  );
  const lists = await rate(100, 1, () => storage.list('/registry/listed/'));
  report(name, `list of ${LIST_ITEMS}`, 1000 / lists, 'ms');
  report(name, `list of ${LIST_ITEMS}`, (lists * LIST_ITEMS * VALUE_BYTES) / 1e6, 'MB/s');
  const pages = await rate(5000, 1, () =>
    storage.list('/registry/listed/', { limit: 500, startAfter: keys[12_000] }),
  );
  report(name, 'page of 500 with remaining', pages, '/s');
  const past = await storage.currentRevision();
  await Promise.all(keys.slice(0, 2000).map((key) => storage.delete(key)));
  const pastLists = await rate(50, 1, () => storage.list('/registry/listed/', { revision: past }));
  report(name, `list of ${LIST_ITEMS} at a past revision`, 1000 / pastLists, 'ms');

  await measureWatch(name, storage);
}

async function measureWatch(name: string, storage: Storage): Promise<void> {
  const events = 200;
  const idle = Array.from({ length: IDLE_WATCHERS }, (_, i) =>
    storage.watch(`/registry/idle/${i}/`),
  );
  const watchers = Array.from({ length: WATCHERS }, () => storage.watch('/registry/watched/'));
  const began = clock.monotonic();
  const readers = watchers.map(async (stream) => {
    let seen = 0;
    for await (const _ of stream) if (++seen === events) break;
  });
  await rate(events, 8, () => storage.create(newKey('watched'), newValue()));
  await Promise.all(readers);
  const seconds = (clock.monotonic() - began) / 1000;
  report(name, `deliveries to ${WATCHERS} watchers`, (events * WATCHERS) / seconds, '/s');
  report(
    name,
    `creates beside ${IDLE_WATCHERS} idle watchers, 64 writers`,
    await rate(10_000, 64, () => storage.create(newKey('x'), newValue())),
    '/s',
  );
  for (const stream of idle) stream.stop();
}

for (const name of engines) {
  if (name === 'memory') {
    const storage = createMemoryStorage({ clock, logger: silentLogger });
    await measure(name, storage, false);
    await storage.close();
    continue;
  }
  const dataDir = await mkdtemp(join(options.dir ?? tmpdir(), 'storage-bench-'));
  const open = (): Promise<Storage> =>
    openEmbeddedStorage({ clock, logger: silentLogger, dataDir });
  try {
    const before = process.memoryUsage.rss();
    let storage = await open();
    report(name, 'memory for an empty store', (process.memoryUsage.rss() - before) / 1e6, 'MB');
    await measure(name, storage, true);
    const missing = RELOAD_ITEMS - (await storage.count('/registry/'));
    await rate(missing, 512, () => storage.create(newKey('more'), newValue()));
    await storage.compact(await storage.currentRevision());
    await storage.close();
    const began = clock.monotonic();
    storage = await open();
    report(
      name,
      `open with ${await storage.count('/registry/')} objects`,
      clock.monotonic() - began,
      'ms',
    );
    await storage.close();
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
