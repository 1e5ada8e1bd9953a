import { expect, test } from 'vitest';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { type ClusterRole, clusterRoles, type PolicyRule } from '#api/groups/rbac/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster } from '../testing/test-cluster.ts';
import { ClusterRoleAggregationController } from './index.ts';

const rule = (resource: string): PolicyRule => ({
  verbs: ['get'],
  apiGroups: [''],
  resources: [resource],
});
const part = (name: string, ...resources: string[]): New<ClusterRole> => ({
  metadata: { name, labels: { to: 'whole' } },
  rules: resources.map(rule),
});
const whole: New<ClusterRole> = {
  metadata: { name: 'whole' },
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: 'whole' } }] },
  rules: null,
};

test('an aggregated role has each rule of its sources once, and follows their changes', async () => {
  const cluster = await startTestCluster();
  const roles = cluster.client.resource(clusterRoles);
  await cluster.run((config) => new ClusterRoleAggregationController(config));
  await roles.create(whole);
  await roles.create(part('b', 'pods', 'secrets'));
  await roles.create(part('a', 'nodes', 'pods'));
  await roles.create({ metadata: { name: 'other' }, rules: [rule('services')] });
  await cluster.clock.settle();
  const resources = async () => (await roles.get('whole')).rules?.flatMap((each) => each.resources);
  expect(await resources()).toEqual(['nodes', 'pods', 'secrets']);
  await roles.delete('a');
  await cluster.clock.settle();
  expect(await resources()).toEqual(['pods', 'secrets']);
  await roles.patch('whole', 'application/merge-patch+json', {
    rules: [rule('services')],
    metadata: { labels: { kept: 'yes' } },
  });
  await cluster.clock.settle();
  expect(await resources()).toEqual(['pods', 'secrets']);
  expect((await roles.get('whole')).metadata.labels).toEqual({ kept: 'yes' });
  await roles.delete('b');
  await cluster.clock.settle();
  expect(await resources()).toBeUndefined();
  await cluster.stop();
});

test('reaches the same outcome after every fault', async () => {
  const { writes, disturbed, outcome } = await disturb({
    subject: (config) => new ClusterRoleAggregationController(config),
    steps: [
      async ({ client }) => void (await client.resource(clusterRoles).create(whole)),
      async ({ client }) => void (await client.resource(clusterRoles).create(part('a', 'pods'))),
      async ({ client }) => void (await client.resource(clusterRoles).create(part('b', 'nodes'))),
    ],
    outcome: [clusterRoles],
    rest: '1m',
  });
  // Two writes for the changes here, six for the aggregated roles of every cluster.
  expect(writes).toBe(8);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
