// One workload as users have it: `cox up` in a process of its own, with the embedded store, and over TLS, from this process, who makes
// the pods and watches them.

import { BuiltCluster } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import { cpuMs, residentMB } from '../process-usage.ts';
import { drive, type Measured } from './drive.ts';
import type { Workload } from './workloads.ts';

/**
 * The only one that is needed: nodes that nobody looks after must not be taken for broken ones. So the program's own node is never
 * said to be ready either: the start waits a minute for it, and no pod goes there.
 */
const CONTROLLERS = 'serviceaccount';

export async function runEndToEnd(workload: Workload, nodeFlags: readonly string[]): Promise<Measured> {
  const cluster = await BuiltCluster.start({
    flags: ['--store', 'embedded', '--runtime', 'simulated', '--nodes', '1', '--controllers', CONTROLLERS],
    nodeFlags,
  });
  try {
    const { client, close } = connectTo(cluster.target);
    const measured = await drive(workload, {
      client,
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
