import { expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import { formatMicroTime, formatTime } from '#machinery/text/time.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { disturb } from '../testing/robustness.ts';
import { NodeLifecycleController } from './index.ts';

const inLeases = ({ client }: TestCluster) => client.resource(leases).namespace('kube-node-lease');

async function addNode(cluster: TestCluster, name: string): Promise<void> {
  const now = formatTime(cluster.clock.now());
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'r',
    message: 'm',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  await cluster.client
    .resource(nodes)
    .create({ metadata: { name }, status: { conditions: [ready] } });
  const inDefault = cluster.client.resource(pods).namespace('default');
  await inDefault.create({
    metadata: { name: `on-${name}` },
    spec: { nodeName: name, containers: [{ name: 'c', image: 'i' }] },
  });
  const status = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: now }],
  };
  await inDefault.patch(
    `on-${name}`,
    'application/merge-patch+json',
    { status },
    { subresource: 'status' },
  );
  await inLeases(cluster).create({
    metadata: { name },
    spec: { holderIdentity: name, leaseDurationSeconds: 40 },
  });
}

/**
 * Renews the leases of the other nodes. Each step is shorter than the grace period, so a slow watch
 * does not make them silent.
 */
async function beat(cluster: TestCluster, names: readonly string[]): Promise<void> {
  for (let beats = 0; beats < 2; beats++) {
    for (const name of names) {
      const spec = { renewTime: formatMicroTime(cluster.clock.now()) };
      await inLeases(cluster).patch(name, 'application/merge-patch+json', { spec });
    }
    await cluster.clock.advance('10s');
  }
}

test('only the silent node is tainted, after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new NodeLifecycleController(config),
    steps: [
      async (cluster) => {
        for (const name of ['silent', 'b', 'c']) await addNode(cluster, name);
      },
      ...Array.from({ length: 8 }, () => (cluster: TestCluster) => beat(cluster, ['b', 'c'])),
    ],
    outcome: [nodes, pods],
    rest: '1s',
  });
  expect(writes).toBeGreaterThanOrEqual(3);
  expect(JSON.stringify(outcome)).toContain('NodeStatusUnknown');
  // The times of the taints may differ; the taints may not.
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
