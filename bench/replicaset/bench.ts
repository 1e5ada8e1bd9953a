// Measures the time from scaling a ReplicaSet until all its pods run, in the built program: through
// API server, controller, scheduler and kubelets. The nodes are simulated, so the figure is about
// the control plane.

import { pods } from '#api/groups/core/v1/index.ts';
import { replicaSets } from '#api/groups/apps/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import { cpuMs, residentMB } from '../process-usage.ts';
import { heading, show } from '../report.ts';

export interface ReplicaSetOptions {
  readonly store: 'embedded' | 'memory';
  readonly replicas: number;
  readonly nodes: number;
  readonly rounds: number;
  /** Node's flags for the cluster's process, such as --cpu-prof. */
  readonly nodeFlags: readonly string[];
}

interface Round {
  /** The time from the scale request until the ReplicaSet's status counts all pods. */
  readonly createdMs: number;
  /** The time until its status counts all pods as ready. */
  readonly readyMs: number;
  readonly cpuMs: number;
  readonly residentMB: number;
}

const NAMESPACE = 'default';
const TIMEOUT_MS = 60_000;

export async function replicaSet(options: ReplicaSetOptions): Promise<void> {
  const { store, replicas, nodes, rounds } = options;
  heading(`replicaset: scaled from 0 to ${replicas} on ${nodes} simulated nodes, ${store} store`);
  const results: Round[] = [];
  for (let i = 0; i < rounds; i++) results.push(await measure(options));
  const goal = replicas <= 1000 ? ({ atMost: 3 } as const) : undefined;
  show({
    what: 'all pods created',
    unit: 's',
    values: results.map(({ createdMs }) => createdMs / 1000),
  });
  show({
    what: 'all pods running and ready',
    unit: 's',
    values: results.map(({ readyMs }) => readyMs / 1000),
    ...(goal && { goal }),
  });
  show({
    what: '  CPU of the cluster',
    unit: 'ms/pod',
    values: results.map((round) => round.cpuMs / replicas),
  });
  show({
    what: '  resident after it',
    unit: 'MB',
    values: results.map((round) => round.residentMB),
  });
}

async function measure({ store, replicas, nodes, nodeFlags }: ReplicaSetOptions): Promise<Round> {
  const cluster = await BuiltCluster.start({
    flags: ['--store', store, '--runtime', 'simulated', '--nodes', String(nodes)],
    nodeFlags,
  });
  try {
    const { client, close } = connectTo(cluster.target);
    try {
      return await scale(cluster.pid, client, replicas);
    } finally {
      close();
    }
  } finally {
    await cluster.stop();
  }
}

async function scale(pid: number, client: Client, replicas: number): Promise<Round> {
  const sets = client.resource(replicaSets).namespace(NAMESPACE);
  const labels = { app: 'bench' };
  const created = await sets.create({
    metadata: { name: 'bench' },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: 'main',
              image: 'registry.k8s.io/pause:3.10',
              resources: { requests: { cpu: '10m', memory: '16Mi' } },
            },
          ],
        },
      },
    },
  });
  // Only one object is watched, so that the benchmark's own process has little to do.
  const watch = await sets.watch({
    fieldSelector: 'metadata.name=bench',
    resourceVersion: created.metadata.resourceVersion,
    timeoutSeconds: TIMEOUT_MS / 1000,
  });
  const cpu = cpuMs(pid);
  const began = systemClock.monotonic();
  await sets.patch('bench', 'application/merge-patch+json', { spec: { replicas } });
  let createdMs: number | undefined;
  for await (const { object } of watch) {
    const { status } = object;
    if (status.replicas === replicas) createdMs ??= systemClock.monotonic() - began;
    if (status.readyReplicas !== replicas || createdMs === undefined) continue;
    const readyMs = systemClock.monotonic() - began;
    const round = { createdMs, readyMs, cpuMs: cpuMs(pid) - cpu, residentMB: residentMB(pid) };
    watch.stop();
    await mustAllRun(client, replicas);
    return round;
  }
  throw new Error(`not all pods were ready after ${TIMEOUT_MS / 1000} s`);
}

async function mustAllRun(client: Client, replicas: number): Promise<void> {
  const { items } = await client
    .resource(pods)
    .namespace(NAMESPACE)
    .list({ labelSelector: 'app=bench' });
  const running = items.filter(({ status }) => status.phase === 'Running').length;
  if (items.length !== replicas || running !== replicas)
    throw new Error(`of ${items.length} pods ${running} run; ${replicas} should`);
}
