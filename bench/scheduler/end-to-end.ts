// Runs one workload as users have it: `cox up` in a process of its own, with the embedded store.
// This process creates the pods and watches them, over TLS.

import { rmSync } from 'node:fs';
import { nodes } from '#api/groups/core/v1/index.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { connectTo } from '../connect.ts';
import { cpuMs, residentMB } from '../process-usage.ts';
import { drive, type Measured } from './drive.ts';
import type { Workload } from './workloads.ts';

const FLAGS = ['--store', 'embedded', '--runtime', 'simulated', '--nodes', '1'];
/**
 * The only controller that is needed. The node lifecycle controller is off: the created nodes have
 * no kubelet, and it would take them for broken.
 */
const CONTROLLERS = 'serviceaccount';

export async function runEndToEnd(
  workload: Workload,
  nodeFlags: readonly string[],
): Promise<Measured> {
  const dataDir = temporaryDirectory('coxswain-bench-');
  try {
    await keepOwnNodeFree(dataDir);
    return await runOn(dataDir, workload, nodeFlags);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/**
 * Keeps the program's own node free of pods. The node is made ready first, which needs more
 * controllers, so that the next start need not wait for it.
 */
async function keepOwnNodeFree(dataDir: string): Promise<void> {
  const cluster = await BuiltCluster.start({ flags: FLAGS, dataDir });
  try {
    const { client, close } = connectTo(cluster.target);
    const { items } = await client.resource(nodes).list();
    const patch = { spec: { unschedulable: true } };
    for (const { metadata } of items)
      await client.resource(nodes).patch(metadata.name, 'application/merge-patch+json', patch);
    close();
  } finally {
    await cluster.stop();
  }
}

async function runOn(
  dataDir: string,
  workload: Workload,
  nodeFlags: readonly string[],
): Promise<Measured> {
  const cluster = await BuiltCluster.start({
    flags: [...FLAGS, '--controllers', CONTROLLERS],
    dataDir,
    nodeFlags,
  });
  try {
    const { client, close } = connectTo(cluster.target);
    const measured = await drive(workload, {
      client,
      byClass: true,
      startScheduling: () => undefined,
      cpuSeconds: () => (cpuMs(cluster.pid) + cpuMs(process.pid)) / 1000,
      memoryMB: () => residentMB(cluster.pid),
      metrics: () => client.transport.text({ method: 'GET', path: '/metrics' }),
    });
    close();
    return measured;
  } finally {
    await cluster.stop();
  }
}
