// The measures of `npm run versus`. Each gets a running cluster, and returns one number per row.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { configMaps, namespaces, pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { connectTo } from '../connect.ts';
import { createNamespace } from '../load/bench.ts';
import { GeneratorProcess } from '../load/generator-process.ts';
import type { RunReport } from '../load/generator.ts';
import type { WorkName } from '../load/work.ts';
import { residentMB } from '../process-usage.ts';
import { drive } from '../scheduler/drive.ts';
import type { RunningSide } from './side.ts';
import type { WatchOrder, WatchReport } from './watchers.ts';

/** The numbers by the key of a row (rows.ts). */
export type Results = Readonly<Record<string, number>>;

const SETTLE_MS = 10_000;
const CONNECTIONS = 64;
const LIST_CONNECTIONS = 4;
const WARM_UP_MS = 1500;
const ROUND_MS = 4000;
/** The number of objects in lists, the same on both sides. */
const LISTED = 20_000;
const WATCHERS = 1000;
const WATCHED_EVENTS = 150;
const EVENT_BYTES = 4096;
const WRITERS = 4;
const SCHEDULED_PODS = 2000;
const DEPLOYED_PODS = 1000;

/**
 * Returns the resident memory some seconds after the start, of all processes, and of API server and
 * store alone, in MB.
 */
export async function idle({ pids }: RunningSide): Promise<Results> {
  await systemClock.sleep(SETTLE_MS);
  const all = Object.entries(pids).map(([name, pid]) => ({ name, mb: residentMB(pid) }));
  return { memory: all.reduce((sum, { mb }) => sum + mb, 0) };
}

/**
 * Returns creates and gets per second over 64 connections, and MB of lists per second over 4.
 * ConfigMaps of 1 KB, HTTP/1.1 and TLS.
 */
export async function load({ target }: RunningSide): Promise<Results> {
  await createNamespace(target);
  const generator = await GeneratorProcess.open({
    target,
    protocol: 'h1',
    connections: CONNECTIONS,
  });
  let created = 0;
  const run = async (
    work: WorkName,
    durationMs: number,
    limits: { requests?: number; connections?: number } = {},
  ) => {
    const report = await generator.run({ work, from: created, durationMs, ...limits });
    if (work === 'create') created += report.requests;
    return report;
  };
  const perSecond = ({ requests, elapsedMs }: RunReport): number => (requests / elapsedMs) * 1000;
  try {
    await run('create', WARM_UP_MS);
    const creates = perSecond(await run('create', ROUND_MS));
    if (created < LISTED) await run('create', 60_000, { requests: LISTED - created });
    await run('get', WARM_UP_MS);
    const gets = perSecond(await run('get', ROUND_MS));
    const lists = await run('list', ROUND_MS, { connections: LIST_CONNECTIONS });
    return { creates, gets, lists: lists.bytes / 1000 / lists.elapsedMs };
  } finally {
    generator.close();
  }
}

/**
 * Returns the events of 4 KB delivered per second to 1,000 watchers over HTTP/2 and TLS, while four
 * writers create objects.
 */
export async function watch({ target }: RunningSide): Promise<Results> {
  const namespace = 'fan-out';
  const { client, close } = connectTo(target);
  const watchers = fork(fileURLToPath(new URL('watchers.ts', import.meta.url)));
  const reports = watchReports(watchers);
  try {
    await client.resource(namespaces).create({ metadata: { name: namespace } });
    const collection = client.resource(configMaps).namespace(namespace);
    await untilHasRootCertificate(client, namespace);
    const { metadata } = await collection.list();
    const order: WatchOrder = {
      target,
      path: `/api/v1/namespaces/${namespace}/configmaps?watch=1&resourceVersion=${metadata.resourceVersion ?? ''}`,
      watchers: WATCHERS,
      eventsEach: WATCHED_EVENTS,
    };
    watchers.send(order);
    await reports.next('open');
    const data = { value: 'x'.repeat(EVENT_BYTES) };
    const began = systemClock.monotonic();
    let next = 0;
    const write = async (): Promise<void> => {
      for (let i = next++; i < WATCHED_EVENTS; i = next++)
        await collection.create({ metadata: { name: `event-${i}` }, data });
    };
    await Promise.all([reports.next('delivered'), ...Array.from({ length: WRITERS }, write)]);
    return { watch: (WATCHERS * WATCHED_EVENTS * 1000) / (systemClock.monotonic() - began) };
  } finally {
    watchers.kill();
    close();
  }
}

/**
 * Waits for the ConfigMap that both sides create in each new namespace: it must not count as an
 * event.
 */
async function untilHasRootCertificate(client: Client, namespace: string): Promise<void> {
  while ((await client.resource(configMaps).namespace(namespace).list()).items.length === 0)
    await systemClock.sleep(20);
}

function watchReports(child: ReturnType<typeof fork>): {
  next(state: 'open' | 'delivered'): Promise<void>;
} {
  return {
    next: (state) =>
      new Promise((resolve, reject) => {
        child.on('message', (report: WatchReport) => {
          if ('error' in report) reject(new Error(report.error));
          else if (report.state === state) resolve();
        });
        child.once('exit', () => reject(new Error('the watchers ended')));
      }),
  };
}

/**
 * Returns the pods bound per second, from the first created pod to the last one bound. The nodes
 * are objects only: they have no kubelet.
 */
export async function schedule({ target }: RunningSide, nodes: number): Promise<number> {
  const { client, close } = connectTo(target);
  try {
    const { seconds, pods: bound } = await drive(
      {
        name: `versus-${nodes}`,
        floor: 0,
        nodes: { count: nodes },
        measured: { count: SCHEDULED_PODS, templates: [{}] },
      },
      {
        client,
        byClass: false,
        startScheduling: () => undefined,
        cpuSeconds: () => 0,
        memoryMB: () => 0,
        metrics: async () => '',
      },
    );
    return bound / seconds;
  } finally {
    close();
  }
}

/**
 * Returns the seconds from the creation of a Deployment of 1,000 pods until all of them are bound
 * to nodes. Call it after `schedule`.
 */
export async function deploy({ target }: RunningSide): Promise<Results> {
  const { client, close } = connectTo(target);
  const abort = new AbortController();
  try {
    const namespace = 'deployed';
    await client.resource(namespaces).create({ metadata: { name: namespace } });
    await untilHasRootCertificate(client, namespace);
    const random = new SeededRandom(3);
    const factory = new SharedInformerFactory({
      client,
      clock: systemClock,
      random,
      logger: silentLogger,
    });
    const bound = new Set<string>();
    const informer = factory.informerFor(pods);
    const allBound = new Promise<void>((resolve) => {
      const see = (pod: {
        readonly metadata: { namespace?: string; name: string };
        readonly spec: { nodeName?: string };
      }): void => {
        if (pod.metadata.namespace === namespace && pod.spec.nodeName) bound.add(pod.metadata.name);
        if (bound.size === DEPLOYED_PODS) resolve();
      };
      informer.addEventHandler({ onAdd: see, onUpdate: (_, pod) => see(pod) });
    });
    factory.start(abort.signal);
    await factory.waitForCacheSync(abort.signal);
    const labels = { app: 'web' };
    const began = systemClock.monotonic();
    await client
      .resource(deployments)
      .namespace(namespace)
      .create({
        metadata: { name: 'web' },
        spec: {
          replicas: DEPLOYED_PODS,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } },
        },
      });
    await allBound;
    return { deployment: (systemClock.monotonic() - began) / 1000 };
  } finally {
    abort.abort();
    close();
  }
}
