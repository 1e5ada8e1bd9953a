import { expect, test } from 'vitest';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { disturb } from '../testing/robustness.ts';
import { PodGcController } from './index.ts';

const add = ({ client }: TestCluster, name: string, nodeName: string, finalizers?: string[]) =>
  client
    .resource(pods)
    .namespace('default')
    .create({
      metadata: { name, finalizers },
      spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
    });

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new PodGcController({ ...config, terminatedPodThreshold: 1 }),
    steps: [
      async (cluster) => {
        await cluster.client.resource(nodes).create({ metadata: { name: 'n1' } });
        await add(cluster, 'here', 'n1');
        await add(cluster, 'lost', 'n2');
        await add(cluster, 'kept', 'n2', ['example.com/wait']);
      },
      async (cluster) => {
        for (const name of ['old', 'new']) {
          await add(cluster, name, 'n1');
          const status = { phase: 'Succeeded' };
          const inDefault = cluster.client.resource(pods).namespace('default');
          await inDefault.patch(
            name,
            'application/merge-patch+json',
            { status },
            { subresource: 'status' },
          );
          await cluster.clock.advance('1s');
        }
      },
    ],
    outcome: [pods],
    rest: '1m',
  });
  expect(writes).toBeGreaterThanOrEqual(5);
  expect(
    outcome.map((pod) => (pod as { metadata: { name: string } }).metadata.name).sort(),
  ).toEqual(['here', 'kept', 'new']);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
