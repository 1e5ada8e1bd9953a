// Measures the time from the first create of many Deployments until the last of them is available,
// in the built program: through API server, both controllers, scheduler and kubelets. The nodes are
// simulated, so the figure is about the control plane.

import { deployments } from '#api/groups/apps/v1/index.ts';
import { pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import { cpuMs, residentMB } from '../process-usage.ts';
import { heading, show } from '../report.ts';
import { pauseDeployment } from '../workloads.ts';

export interface DeploymentsOptions {
  readonly store: 'embedded' | 'memory';
  readonly deployments: number;
  /** Pods of each Deployment. */
  readonly replicas: number;
  readonly nodes: number;
  readonly rounds: number;
  /** Node's flags for the cluster's process, such as --cpu-prof. */
  readonly nodeFlags: readonly string[];
}

interface Round {
  /** The time from the first create request until the last one was answered. */
  readonly createdMs: number;
  /** The time until the last Deployment's status counted all its pods as available. */
  readonly availableMs: number;
  readonly cpuMs: number;
  readonly residentMB: number;
}

const NAMESPACE = 'default';
const TIMEOUT_MS = 300_000;
const CREATORS = 16;

export async function manyDeployments(options: DeploymentsOptions): Promise<void> {
  const { store, deployments: count, replicas, nodes, rounds } = options;
  heading(`deployments: ${count} of ${replicas} pods on ${nodes} simulated nodes, ${store} store`);
  const results: Round[] = [];
  for (let i = 0; i < rounds; i++) results.push(await measure(options));
  const goal = count * replicas <= 10_000 ? ({ atMost: 30 } as const) : undefined;
  show({
    what: 'all Deployments created',
    unit: 's',
    values: results.map(({ createdMs }) => createdMs / 1000),
  });
  show({
    what: 'all available',
    unit: 's',
    values: results.map(({ availableMs }) => availableMs / 1000),
    ...(goal && { goal }),
  });
  show({
    what: '  CPU of the cluster',
    unit: 'ms/pod',
    values: results.map((round) => round.cpuMs / (count * replicas)),
  });
  show({
    what: '  resident after it',
    unit: 'MB',
    values: results.map((round) => round.residentMB),
  });
}

async function measure(options: DeploymentsOptions): Promise<Round> {
  const cluster = await BuiltCluster.start({
    flags: ['--store', options.store, '--runtime', 'simulated', '--nodes', String(options.nodes)],
    nodeFlags: options.nodeFlags,
  });
  try {
    const { client, close } = connectTo(cluster.target);
    try {
      return await create(cluster.pid, client, options);
    } finally {
      close();
    }
  } finally {
    await cluster.stop();
  }
}

async function create(
  pid: number,
  client: Client,
  { deployments: count, replicas }: DeploymentsOptions,
): Promise<Round> {
  const namespaced = client.resource(deployments).namespace(NAMESPACE);
  const { metadata } = await namespaced.list();
  const watch = await namespaced.watch({
    resourceVersion: metadata.resourceVersion,
    timeoutSeconds: TIMEOUT_MS / 1000,
  });
  const cpu = cpuMs(pid);
  const began = systemClock.monotonic();
  let next = 0;
  const creator = async (): Promise<void> => {
    while (next < count) await namespaced.create(pauseDeployment(`bench-${next++}`, replicas));
  };
  let createdMs = 0;
  const creating = Promise.all(Array.from({ length: CREATORS }, creator)).then(() => {
    createdMs = systemClock.monotonic() - began;
  });
  const available = new Set<string>();
  for await (const { object } of watch) {
    if (object.status.availableReplicas === replicas) available.add(object.metadata.name);
    if (available.size === count) break;
  }
  const availableMs = systemClock.monotonic() - began;
  watch.stop();
  await creating;
  if (available.size < count)
    throw new Error(
      `only ${available.size} Deployments were available after ${TIMEOUT_MS / 1000} s`,
    );
  const round = { createdMs, availableMs, cpuMs: cpuMs(pid) - cpu, residentMB: residentMB(pid) };
  await mustAllRun(client, count * replicas);
  return round;
}

async function mustAllRun(client: Client, wanted: number): Promise<void> {
  const { items } = await client.resource(pods).namespace(NAMESPACE).list();
  const running = items.filter(({ status }) => status.phase === 'Running').length;
  if (items.length !== wanted || running !== wanted)
    throw new Error(`of ${items.length} pods ${running} run; ${wanted} should`);
}
