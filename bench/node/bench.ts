// Measures one node with real containers: how long it takes to start many pods, and what its kubelet
// uses while they run. With upstream's kubelet, the two run one after the other, each with a
// containerd of its own, against the same API server of ours.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { pauseImage } from '#runtime/containerd/index.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { connectTo } from '../connect.ts';
import { cpuMs, residentMB } from '../process-usage.ts';
import { heading, note, show } from '../report.ts';
import { type Maker, type RunningNode, startNode } from './real-node.ts';

const NAMESPACE = 'default';
const SETTLE_MS = 20_000;
const MEASURED_MS = 60_000;
const TIMEOUT_MS = 600_000;
const POLL_MS = 200;

export interface NodeBenchOptions {
  /** The numbers of pods, measured one after the other. */
  readonly pods: readonly number[];
  /** Also measures upstream's kubelet. */
  readonly upstream: boolean;
  /** Flags of Node for our kubelet, such as --cpu-prof. */
  readonly nodeFlags: readonly string[];
}

interface Measurement {
  readonly startSeconds: number;
  /** Percent of one core. */
  readonly cpuPercent: number;
  readonly megabytes: number;
}

/** The goals, by number of pods. Usage is that at rest. */
const GOALS: Readonly<Record<number, { seconds: number; percent?: number; megabytes?: number }>> = {
  110: { seconds: 20, percent: 1, megabytes: 60 },
  250: { seconds: 60 },
};

export async function node(options: NodeBenchOptions): Promise<void> {
  heading(`one node with real containers: ${options.pods.join(', then ')} pods of one container`);
  const dir = temporaryDirectory('coxswain-node-');
  const dataDir = join(dir, 'cluster');
  const cluster = await BuiltCluster.start({
    flags: ['--store', 'memory', '--runtime', 'simulated', '--nodes', '1'],
    dataDir,
  });
  const { client, close } = connectTo(cluster.target);
  const results = new Map<Maker, readonly Measurement[]>();
  try {
    for (const maker of options.upstream ? (['upstream', 'ours'] as const) : (['ours'] as const)) {
      const started = await startNode({
        maker,
        dir: join(dir, maker),
        pki: join(dataDir, 'pki'),
        server: `https://${cluster.target.host}:${cluster.target.port}`,
        maxPods: Math.max(...options.pods),
        nodeFlags: options.nodeFlags,
      });
      try {
        results.set(maker, await measureAll(client, started, options.pods));
      } finally {
        await started.stop();
        await client.resource(nodes).delete(started.name);
      }
    }
  } finally {
    close();
    await cluster.stop();
    rmSync(dir, { recursive: true, force: true });
  }
  report(options.pods, results);
}

async function measureAll(
  client: Client,
  running: RunningNode,
  counts: readonly number[],
): Promise<readonly Measurement[]> {
  await until(running, async () => {
    const found = (await client.resource(nodes).list()).items.find(
      ({ metadata }) => metadata.name === running.name,
    );
    return (found?.status.conditions ?? []).some(
      ({ type, status }) => type === 'Ready' && status === 'True',
    );
  });
  const measurements: Measurement[] = [];
  for (const count of counts) {
    const measured = await measure(client, running, count);
    note(`${running.name}, ${count} pods: ${JSON.stringify(measured)}`);
    measurements.push(measured);
  }
  return measurements;
}

async function measure(client: Client, running: RunningNode, count: number): Promise<Measurement> {
  const resource = client.resource(pods).namespace(NAMESPACE);
  const began = systemClock.monotonic();
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      resource.create({
        metadata: { name: `bench-${index}` },
        spec: {
          nodeName: running.name,
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'main', image: pauseImage, imagePullPolicy: 'IfNotPresent' }],
        },
      }),
    ),
  );
  await until(running, async () => (await readyPods(client)) === count);
  const startSeconds = (systemClock.monotonic() - began) / 1000;
  await systemClock.sleep(SETTLE_MS);
  const before = cpuMs(running.pid);
  await systemClock.sleep(MEASURED_MS);
  const cpuPercent = ((cpuMs(running.pid) - before) / MEASURED_MS) * 100;
  const megabytes = residentMB(running.pid);
  await resource.deleteCollection({ gracePeriodSeconds: 0 });
  await running.untilEmpty();
  return { startSeconds, cpuPercent, megabytes };
}

async function readyPods(client: Client): Promise<number> {
  const { items } = await client.resource(pods).namespace(NAMESPACE).list();
  return items.filter(({ status }) =>
    (status.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  ).length;
}

async function until(running: RunningNode, condition: () => Promise<boolean>): Promise<void> {
  const deadline = systemClock.monotonic() + TIMEOUT_MS;
  while (!(await condition())) {
    running.check();
    if (systemClock.monotonic() > deadline)
      throw new Error(`the node did not get there in ${TIMEOUT_MS / 1000} s`);
    await systemClock.sleep(POLL_MS);
  }
}

function report(
  counts: readonly number[],
  results: ReadonlyMap<Maker, readonly Measurement[]>,
): void {
  for (const [index, count] of counts.entries()) {
    const ours = results.get('ours')?.[index];
    const upstream = results.get('upstream')?.[index];
    if (ours === undefined) continue;
    const goal = GOALS[count];
    const line = (
      what: string,
      unit: string,
      of: (measurement: Measurement) => number,
      atMost: number | undefined,
    ): void =>
      show({
        what,
        unit,
        values: [of(ours)],
        ...(atMost !== undefined && { goal: { atMost } }),
        ...(upstream !== undefined && {
          comparedWith: { name: 'kubelet', value: of(upstream) },
        }),
      });
    line(`${count} pods ready`, 's', ({ startSeconds }) => startSeconds, goal?.seconds);
    line('  CPU of a core at rest', '%', ({ cpuPercent }) => cpuPercent, goal?.percent);
    line('  resident', 'MB', ({ megabytes }) => megabytes, goal?.megabytes);
  }
  note('pods are bound when they are created; containerd and the API server share the processors');
}
