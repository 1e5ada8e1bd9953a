// Measures the statistics of a node with real processes, through the API server's proxy, as
// metrics-server and Prometheus request them: processor time of the whole program for each request,
// and the memory that stays.

import { Agent, get } from 'node:https';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { BuiltCluster, type Target } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import { HeapUsage } from '../heap-usage.ts';
import { threadsMs } from '../process-usage.ts';
import { heading, median, show } from '../report.ts';

const PODS = 20;
const READS = 40;
/** Between two requests of metrics-server, in ms. */
const PERIOD_MS = 15_000;
/** The rounds of requests after which the heap is read. */
const ROUNDS = 3;
/** From the last request to the heap's figure, in ms: what connections still hold is not statistics. */
const SETTLE_MS = 6_000;
const PATHS = ['/stats/summary', '/metrics/resource', '/metrics/cadvisor'];
/** A request that reads no statistics: what the API server's proxy and its connection cost. */
const PLAIN = '/healthz';

export async function realNode(): Promise<void> {
  heading(`statistics of a node with ${PODS} real pods (--runtime process), one request each`);
  const heap = new HeapUsage();
  const cluster = await BuiltCluster.start({
    flags: ['--runtime', 'process', '--no-dns'],
    nodeFlags: heap.flags,
  });
  const { client, close } = connectTo(cluster.target);
  const agent = new Agent({ keepAlive: true });
  try {
    const node = await fill(client);
    const heapAfter = async (paths: readonly string[]): Promise<readonly number[]> => {
      const values: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        for (const path of paths) await measure(cluster, agent, node, path);
        await systemClock.sleep(SETTLE_MS);
        values.push(await heap.bytes(cluster.pid));
      }
      return values;
    };
    const plain = await measure(cluster, agent, node, PLAIN);
    const heapBefore = await heapAfter([PLAIN, PLAIN, PLAIN]);
    show({ what: `${PLAIN} every 15 s: the proxy`, unit: 'mCPU', values: plain });
    for (const path of PATHS) {
      const values = await measure(cluster, agent, node, path);
      show({
        what: `${path} every 15 s, beyond that`,
        unit: 'mCPU',
        values: values.map((value) => Math.max(0, value - median(plain))),
        goal: { atMost: 1 },
      });
    }
    const stays = await heapAfter(PATHS);
    show({
      what: 'memory that stays, beyond that',
      unit: 'MB',
      values: stays.map((bytes) => Math.max(0, bytes - median(heapBefore)) / 1e6),
      goal: { atMost: 2 },
    });
    await client.resource(deployments).namespace('default').delete('stats');
    await untilPods(client, 0);
  } finally {
    agent.destroy();
    close();
    await cluster.stop();
    heap.close();
  }
}

/** Returns the processor time of requests of a path of the node, if one comes every period. */
async function measure(
  { pid, target }: BuiltCluster,
  agent: Agent,
  node: string,
  path: string,
): Promise<readonly number[]> {
  const url = `/api/v1/nodes/${node}/proxy${path}`;
  for (let warm = 0; warm < READS; warm++) await read(target, agent, url);
  const values: number[] = [];
  for (let count = 0; count < READS; count++) {
    const start = threadsMs(pid);
    await read(target, agent, url);
    values.push(((threadsMs(pid) - start) / PERIOD_MS) * 1000);
  }
  return values;
}

/** Reads a path of the API server to its end. Rejects unless the status is 200. */
function read({ host, port, ca, cert, key }: Target, agent: Agent, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get({ host, port, path, ca, cert, key, agent }, (response) => {
      response.resume();
      response.once('error', reject);
      response.once('end', () =>
        response.statusCode === 200
          ? resolve()
          : reject(new Error(`${path}: status ${response.statusCode}`)),
      );
    });
    request.once('error', reject);
  });
}

/** Starts the pods. Resolves with the node's name when all run. */
async function fill(client: Client): Promise<string> {
  const labels = { app: 'stats' };
  await client
    .resource(deployments)
    .namespace('default')
    .create({
      metadata: { name: 'stats' },
      spec: {
        replicas: PODS,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            // Its volume would be a mount, which outlives the cluster.
            automountServiceAccountToken: false,
            terminationGracePeriodSeconds: 0,
            containers: [{ name: 'main', image: 'none', command: ['sleep', '100000'] }],
          },
        },
      },
    });
  await untilPods(client, PODS);
  const [node] = (await client.resource(nodes).list()).items;
  return node!.metadata.name;
}

/** Waits until so many pods exist and run. */
async function untilPods(client: Client, count: number): Promise<void> {
  await wait.poll({ clock: systemClock, intervalMs: 500, timeoutMs: 300_000 }, async () => {
    const { items } = await client.resource(pods).namespace('default').list();
    return items.length === count && items.every(({ status }) => status.phase === 'Running');
  });
}
