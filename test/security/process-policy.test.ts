// Uncaught errors from every component and every kind of callback: each is logged and counted, its
// component is restarted, and the cluster continues.

import { spawnSync } from 'node:child_process';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { deployments } from '#api/groups/apps/v1/index.ts';
import { pods } from '#api/groups/core/v1/index.ts';
import { Cluster } from '#cluster/composition/cluster.ts';
import { UncaughtErrors } from '#cluster/faults/index.ts';
import { startCluster } from '#cluster/index.ts';
import { simulatedNode } from '#cluster/nodes/simulated-machine.ts';
import { type ComponentsRunner, KeptThread } from '#cluster/thread/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import type { Logger, LogValues } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';

interface Line {
  readonly message: string;
  readonly values: LogValues;
}

let lines: Line[];
let fatal: Error[];
let clock: VirtualClock;
let faults: UncaughtErrors;
let uninstall: () => void;
/** The test runner's own listeners, which would fail the test. */
const runner = { uncaughtException: [] as Function[], unhandledRejection: [] as Function[] };

const record = (message: string, values: LogValues = {}): void =>
  void lines.push({ message, values });
const logger: Logger = {
  error: record,
  warn: record,
  info: () => undefined,
  debug: () => undefined,
  with: () => logger,
};

beforeAll(() => {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    runner[event] = process.listeners(event as 'uncaughtException');
    for (const listener of runner[event]) process.off(event, listener as () => void);
  }
});
afterAll(() => {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    for (const listener of runner[event]) process.on(event, listener as () => void);
  }
});
beforeEach(() => {
  lines = [];
  fatal = [];
  clock = new VirtualClock();
  faults = new UncaughtErrors({ clock, logger, onFatal: (error) => void fatal.push(error) });
  uninstall = faults.install();
});
afterEach(() => uninstall());

/** Returns an error whose stack begins in this file of src/. */
function errorFrom(file: string, message = 'injected'): Error {
  const error = new Error(message);
  error.stack =
    `Error: ${message}\n    at shared (/app/src/machinery/wait.ts:1:1)\n    at work ` +
    `(/app/src/${file}:1:1)\n    at run (node:internal/x:1:1)`;
  return error;
}

const logged = (message: string): readonly Line[] =>
  lines.filter((line) => line.message === message);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function inSocketCallback(error: Error): Promise<void> {
  const server = createServer((socket) => socket.end('x'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.once('data', () => {
    throw error;
  });
  await expect
    .poll(() => logged('uncaught error').length, { interval: 2, timeout: 60_000 })
    .toBeGreaterThan(0);
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
}

const COMPONENTS = [
  { name: 'controller-manager', file: 'controllers/replicaset/replicaset-controller.ts' },
  { name: 'scheduler', file: 'scheduler/scheduler.ts' },
  { name: 'kubelet/node-1', file: 'kubelet/pod-workers.ts' },
] as const;

const KINDS: Readonly<Record<string, (component: (typeof COMPONENTS)[number]) => Promise<void>>> = {
  'a timer callback': async ({ name, file }) => {
    faults.clockOf(name, clock).setTimer(10, () => {
      throw errorFrom(file);
    });
    await clock.advance(10);
  },
  'a rejected promise': async ({ file }) => {
    void Promise.reject(errorFrom(file));
    await turn();
    await turn();
  },
  'a socket callback': ({ file }) => inSocketCallback(errorFrom(file)),
};

describe('a cluster', () => {
  let cluster: Cluster;
  let count = 0;

  beforeEach(async () => {
    const random = new SeededRandom('policy');
    let started = false;
    const starting = Cluster.start({
      clock,
      random,
      logger,
      faults,
      storage: createMemoryStorage({ clock, logger }),
      nodes: [
        simulatedNode(
          { name: 'node-1', podCidrs: ['10.244.1.0/24'] },
          { clock, random, journal: undefined },
        ),
      ],
      podCidrs: ['10.244.0.0/16'],
      serviceCidr: '10.96.0.0/16',
    }).finally(() => (started = true));
    await clock.runUntil(() => started);
    cluster = await starting;
  });
  afterEach(async () => {
    let stopped = false;
    const stopping = cluster.stop().finally(() => (stopped = true));
    await clock.runUntil(() => stopped);
    await stopping;
  });

  /** Waits for a Deployment's pod: it needs the controllers, the scheduler and the kubelet. */
  async function works(): Promise<void> {
    const name = `web-${count++}`;
    const labels = { app: name };
    await cluster.client
      .resource(deployments)
      .namespace('default')
      .create({
        metadata: { name },
        spec: {
          replicas: 1,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { containers: [{ name: 'c', image: 'busybox:1.36', command: ['sleep', '1d'] }] },
          },
        },
      });
    await clock.runUntil(async () => {
      const { items } = await cluster.client.resource(pods).namespace('default').list();
      return items.some(
        ({ metadata, status }) => metadata.labels?.['app'] === name && status.phase === 'Running',
      );
    }, '10m');
  }

  describe.each(COMPONENTS)('with an error in $name', (component) => {
    test.each(Object.entries(KINDS))('from %s goes on', async (_kind, inject) => {
      await works();
      lines = [];
      await inject(component);
      const [line, ...others] = logged('uncaught error');
      expect(others).toEqual([]);
      expect(line?.values).toMatchObject({ component: component.name, err: expect.any(Error) });
      await works();
      expect(logged('restarting component').map(({ values }) => values['component'])).toEqual([
        component.name,
      ]);
      const metrics = await cluster.client.transport.text({ method: 'GET', path: '/metrics' });
      expect(metrics).toContain(
        `coxswain_uncaught_errors_total{component="${component.name.split('/')[0]}"} 1\n`,
      );
      expect(fatal).toEqual([]);
    });
  });

  test('with an error of unknown origin continues, and no component is restarted', async () => {
    void Promise.reject(new Error('from nowhere'));
    void Promise.reject(undefined);
    await turn();
    await turn();
    await works();
    expect(logged('uncaught error').map(({ values }) => values['component'])).toEqual([
      'unknown',
      'unknown',
    ]);
    expect(faults.metrics()).toContain('coxswain_uncaught_errors_total{component="unknown"} 2\n');
    expect(logged('restarting component')).toEqual([]);
  });

  test('with an error in each request of the API server continues', async () => {
    void Promise.reject(errorFrom('apiserver/http/listener.ts'));
    await turn();
    await turn();
    await works();
    expect(logged('uncaught error').map(({ values }) => values['component'])).toEqual([
      'apiserver',
    ]);
  });
});

test('a component that fails repeatedly waits longer each time', async () => {
  const delays: unknown[] = [];
  const { keepRunning } = await import('#cluster/faults/index.ts');
  const stop = new AbortController();
  const run = (): Promise<void> => Promise.reject(new Error('broken'));
  const done = keepRunning(
    { name: 'scheduler', folder: 'scheduler', clock, logger, faults, run },
    stop.signal,
  );
  await clock.advance('5m');
  for (const { values } of logged('restarting component')) delays.push(values['delayMs']);
  expect(delays.slice(0, 8)).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  stop.abort();
  await done;
});

test('a flood of errors is counted, and logged in part', async () => {
  for (let i = 0; i < 1000; i++) faults.report('scheduler', new Error('again'));
  expect(logged('uncaught error').length).toBe(10);
  expect(logged('uncaught error')[0]?.values['stack']).toContain('process-policy.test.ts');
  await clock.advance('1m');
  faults.report('scheduler', new Error('again'));
  expect(logged('uncaught errors were only counted').map(({ values }) => values['count'])).toEqual([
    990,
  ]);
  expect(faults.metrics()).toContain('{component="scheduler"} 1001\n');
});

test('an error in the store is fatal: acknowledged writes must be on the disk', async () => {
  void Promise.reject(errorFrom('storage/embedded/embedded-storage.ts', 'the index is damaged'));
  await turn();
  await turn();
  expect(fatal.map(({ message }) => message)).toEqual(['the index is damaged']);
});

test('a thread of components that ends is started again', async () => {
  let made = 0;
  const ends: ((error: Error) => void)[] = [];
  const calls: string[] = [];
  const make = (): ComponentsRunner => {
    const id = made++;
    const failed = new Promise<Error>((resolve) => ends.push(resolve));
    return {
      failed,
      start: async () => void calls.push(`start ${id}`),
      metrics: () => `metrics ${id}`,
      decisions: () => [],
      connect: () => undefined,
      setKubeletCertificate: () => undefined,
      stop: async () => void calls.push(`stop ${id}`),
    };
  };
  const thread = new KeptThread({ clock, logger, faults, make });
  await thread.start({} as never);
  ends[0]?.(new Error('out of memory'));
  await clock.advance('2s');
  expect(calls).toEqual(['start 0', 'stop 0', 'start 1']);
  expect(await thread.metrics()).toBe('metrics 1');
  expect(logged('uncaught error').map(({ values }) => values['component'])).toEqual([
    'components-thread',
  ]);
  await thread.stop();
  expect(calls.at(-1)).toBe('stop 1');
});

test('a cluster inside a program leaves the uncaught errors of the program alone', async () => {
  uninstall();
  const before = [
    process.listenerCount('uncaughtException'),
    process.listenerCount('unhandledRejection'),
  ];
  const cluster = await startCluster({ clock: 'virtual' });
  expect([
    process.listenerCount('uncaughtException'),
    process.listenerCount('unhandledRejection'),
  ]).toEqual(before);
  await cluster.stop();
});

test('a log without a reader ends the process, once', () => {
  const urlOf = (path: string): string =>
    JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  const program = `
    const { UncaughtErrors } = await import(${urlOf('cluster/faults/index.ts')});
    const { systemClock } = await import(${urlOf('machinery/clock.ts')});
    const { createLogger } = await import(${urlOf('machinery/log.ts')});
    const logger = createLogger({ destination: process.stdout });
    new UncaughtErrors({ clock: systemClock, logger, onFatal: () => undefined }).install();
    setInterval(() => process.stdout.write('a line\\n'), 1);
  `;
  const tsx = new URL('../../node_modules/tsx/dist/loader.mjs', import.meta.url).href;
  const { status, stderr } = spawnSync(
    'sh',
    [
      '-c',
      `"${process.execPath}" --import ${tsx} --input-type=module -e "$PROGRAM" | head -1 >/dev/null; exit 0`,
    ],
    { env: { ...process.env, PROGRAM: program }, timeout: 30_000, encoding: 'utf8' },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
