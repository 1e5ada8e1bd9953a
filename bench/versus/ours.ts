// Our side: `cox up` with the embedded store and one simulated node, which takes no pods.

import { nodes } from '#api/groups/core/v1/index.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import type { NodeProgram } from '../node-program.ts';
import type { RunningSide, Side } from './side.ts';

// The range has room for the pod ranges of thousands of nodes.
const FLAGS = ['--store', 'embedded', '--runtime', 'simulated', '--pod-cidr', '10.128.0.0/9'];

/** Returns our side, run by this Node. */
export function oursWith({ path, version }: NodeProgram): Side {
  return { name: `coxswain, Node ${version}`, start: () => start(path) };
}

async function start(node: string): Promise<RunningSide> {
  const cluster = await BuiltCluster.start({ flags: FLAGS, node });
  try {
    await cordonAll(cluster);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  const { target, wallMs } = cluster;
  return { target, readyMs: wallMs, pids: { cox: cluster.pid }, stop: () => cluster.stop() };
}

/** Cordons our node, since upstream's side has no node of its own. */
async function cordonAll(cluster: BuiltCluster): Promise<void> {
  const { client, close } = connectTo(cluster.target);
  try {
    const { items } = await client.resource(nodes).list();
    const patch = { spec: { unschedulable: true } };
    for (const { metadata } of items)
      await client.resource(nodes).patch(metadata.name, 'application/merge-patch+json', patch);
  } finally {
    close();
  }
}
