// `npm run bench -- watch`: measures the cost of watches of one resource, through the registry of
// an API server (`load` measures HTTP before it). See bench/README.md.

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { configMaps } from '#api/groups/core/v1/index.ts';
import { everything } from '#apiserver/registry/selection.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { openEmbeddedStorage } from '#storage/embedded/index.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { heading, note, quantile, show } from '../report.ts';
import { etcd } from './etcd.ts';
import { podKey, podValue } from './objects.ts';

const POD_BYTES = 4096;
const ROUNDS = 3;
const WRITERS = 64;

const context = {
  user: { name: 'bench', groups: [] },
  namespace: '',
  signal: new AbortController().signal,
  warnings: [],
};

export async function watch(): Promise<void> {
  for (const watchers of [1000, 10_000]) await fanOut(watchers);
  await listing();
  await underLoad();
  memory();
  await etcd();
}

async function serverOn(storage: Storage): Promise<TestServer> {
  return startTestServer({
    storage,
    clock: systemClock,
    random: systemRandom,
    detectMutations: false,
  });
}

function podsOf({ server }: TestServer) {
  const pods = server.catalog.snapshot().get('', 'v1', 'pods');
  if (pods?.rest.watch === undefined || pods.rest.list === undefined)
    throw new Error('the server has no pods');
  return { watch: pods.rest.watch.bind(pods.rest), list: pods.rest.list.bind(pods.rest) };
}

/**
 * Measures watchers of all pods. Writes come one after the other, so that the time from each write
 * to its last watcher can be measured.
 */
async function fanOut(count: number): Promise<void> {
  heading(
    `watch: ${count.toLocaleString('en')} watchers of all pods, ${POD_BYTES / 1024} KB a pod`,
  );
  const storage = createMemoryStorage({ clock: systemClock, logger: silentLogger });
  const server = await serverOn(storage);
  const { watch } = podsOf(server);
  const options = { selection: everything, allowBookmarks: false, sendInitialEvents: undefined };
  const resourceVersion = String(await storage.currentRevision());
  let bytes = 0;
  let left = 0;
  let all: () => void = () => undefined;
  const streams = [];
  for (let i = 0; i < count; i++) {
    const stream = await watch(context, { ...options, resourceVersion });
    streams.push(stream);
    void (async () => {
      for await (const event of stream) {
        bytes += event.frame().length;
        if (--left === 0) all();
      }
    })();
  }
  const rates: number[] = [];
  const latencies: number[] = [];
  const writes = Math.ceil(300_000 / count);
  for (let round = 0; round < ROUNDS; round++) {
    const began = systemClock.monotonic();
    for (let i = 0; i < writes; i++) {
      left = count;
      const delivered = new Promise<void>((resolve) => {
        all = resolve;
      });
      // The memory store commits and sends events before its promise resolves, so the time starts
      // with the call.
      const called = systemClock.monotonic();
      await storage.guaranteedUpdate(podKey(i), () => ({
        action: 'put',
        value: podValue(i, POD_BYTES, round),
      }));
      await delivered;
      latencies.push(systemClock.monotonic() - called);
    }
    rates.push((writes * count * 1000) / (systemClock.monotonic() - began));
  }
  show({ what: 'deliveries', unit: '/s', values: rates, goal: { atLeast: 25_000 } });
  show({ what: 'write to last delivery, p50', unit: 'ms', values: [quantile(latencies, 0.5)] });
  show({ what: 'write to last delivery, p99', unit: 'ms', values: [quantile(latencies, 0.99)] });
  note(
    `${Math.round(bytes / 1024 / 1024).toLocaleString('en')} MB of frames were handed over, each encoded once`,
  );
  for (const stream of streams) stream.stop();
  await server.stop();
}

async function listing(): Promise<void> {
  heading('list: 10,000 pods of 4 KB');
  const storage = createMemoryStorage({ clock: systemClock, logger: silentLogger });
  for (let i = 0; i < 10_000; i++) await storage.create(podKey(i), podValue(i, POD_BYTES));
  const server = await serverOn(storage);
  const { list } = podsOf(server);
  const options = {
    selection: everything,
    limit: 0,
    continue: '',
    resourceVersion: '',
    resourceVersionMatch: '' as const,
  };
  const rates: number[] = [];
  for (let round = 0; round < 10; round++) {
    const began = systemClock.monotonic();
    const { items } = await list(context, options);
    let length = 0;
    for (const item of items) length += item.itemLength();
    const target = Buffer.allocUnsafe(length);
    let offset = 0;
    for (const item of items) offset = item.copyItem(target, offset);
    rates.push(length / 1e6 / ((systemClock.monotonic() - began) / 1000));
  }
  show({
    what: 'listed and spliced into one body',
    unit: 'MB/s',
    values: rates.slice(2),
    goal: { atLeast: 400 },
  });
  await server.stop();
}

async function underLoad(): Promise<void> {
  heading(
    `event loop: ${WRITERS} writers of ConfigMaps of 1 KB, embedded store, in one process with the server`,
  );
  const dataDir = temporaryDirectory('coxswain-bench-');
  const server = await serverOn(
    await openEmbeddedStorage({ clock: systemClock, logger: silentLogger, dataDir }),
  );
  const maps = server.client.resource(configMaps).namespace('default');
  const data = { filler: 'x'.repeat(1000) };
  let serial = 0;
  const write = async (until: number): Promise<void> => {
    while (systemClock.monotonic() < until)
      await maps.create({ metadata: { name: `map-${serial++}` }, data });
  };
  const writers = (ms: number): Promise<unknown> => {
    const until = systemClock.monotonic() + ms;
    return Promise.all(Array.from({ length: WRITERS }, () => write(until)));
  };
  await writers(2000);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const before = serial;
  delay.enable();
  await writers(5000);
  delay.disable();
  show({ what: 'durable creates meanwhile', unit: '/s', values: [(serial - before) / 5] });
  show({
    what: 'delay of the event loop, p99',
    unit: 'ms',
    values: [delay.percentile(99) / 1e6],
    goal: { atMost: 20 },
  });
  show({ what: 'the longest', unit: 'ms', values: [delay.max / 1e6] });
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

function memory(): void {
  heading('memory: 150,000 pods of 2 KB, each in a process of its own');
  for (const kind of ['core', 'cache']) {
    const script = fileURLToPath(new URL('memory.ts', import.meta.url));
    const { stdout, status } = spawnSync(
      process.execPath,
      [...process.execArgv, '--import', 'tsx', script, kind],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    if (status !== 0) throw new Error(`the process that measures memory ended with ${status}`);
    const figures = JSON.parse(stdout) as {
      kept: number;
      served: number;
      watched: number;
      watchers: number;
    };
    const name = kind === 'core' ? "embedded engine's core" : 'watch cache before etcd';
    show({ what: `${name}: resident`, unit: 'MB', values: [figures.kept] });
    show({
      what: `${name}: after all were listed`,
      unit: 'MB',
      values: [figures.served],
      goal: { atMost: 1200 },
    });
    const each = ((figures.watched - figures.served) * 1024) / figures.watchers;
    show({ what: `${name}: a watcher`, unit: 'KB', values: [each] });
  }
}
