import { expect, test } from 'vitest';
import { replicaSets } from '#api/groups/apps/v1/index.ts';
import { pods, replicationControllers } from '#api/groups/core/v1/index.ts';
import { disturb, type Scenario } from '../testing/robustness.ts';
import { readyPods } from '../testing/ready-pods.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { ReplicaManager, replicaSetKind, replicationControllerKind } from './index.ts';

const metadata = { name: 'web', namespace: 'default' };
const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'busybox:1' }] },
};
const MERGE = 'application/merge-patch+json';

/**
 * The faults hit these steps: an orphan exists, a pod is released by its labels, and a pod is
 * deleted by another client.
 */
const orphan = async ({ client }: TestCluster) => {
  const { spec } = template;
  await client
    .resource(pods)
    .create({ metadata: { name: 'orphan', namespace: 'default', labels: { app: 'web' } }, spec });
};
const disown = async ({ client }: TestCluster) =>
  void (await client
    .resource(pods)
    .namespace('default')
    .patch('orphan', MERGE, { metadata: { labels: { app: 'own' } } }));
const deleteOne = async ({ client }: TestCluster) => {
  const namespaced = client.resource(pods).namespace('default');
  const { items } = await namespaced.list({ labelSelector: 'app=web' });
  const [first] = items;
  if (first !== undefined) await namespaced.delete(first.metadata.name);
};

const sets: Scenario = {
  subject: (config) => new ReplicaManager({ ...config, kind: replicaSetKind }),
  others: [readyPods()],
  steps: [
    orphan,
    async ({ client }) =>
      void (await client.resource(replicaSets).create({
        metadata,
        spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template },
      })),
    disown,
    deleteOne,
    async ({ client }) =>
      void (await client
        .resource(replicaSets)
        .namespace('default')
        .patch('web', MERGE, { spec: { replicas: 1 } })),
  ],
  outcome: [replicaSets, pods],
  rest: '6m',
};

const controllers: Scenario = {
  ...sets,
  subject: (config) => new ReplicaManager({ ...config, kind: replicationControllerKind }),
  steps: [
    orphan,
    async ({ client }) =>
      void (await client
        .resource(replicationControllers)
        .create({ metadata, spec: { replicas: 3, selector: { app: 'web' }, template } })),
    disown,
    deleteOne,
    async ({ client }) =>
      void (await client
        .resource(replicationControllers)
        .namespace('default')
        .patch('web', MERGE, { spec: { replicas: 1 } })),
  ],
  outcome: [replicationControllers, pods],
};

test.each([
  ['ReplicaSet', sets],
  ['ReplicationController', controllers],
])('a %s ends the same, whatever goes wrong', async (_, scenario) => {
  const { writes, events, outcome, disturbed } = await disturb(scenario);
  expect([writes, events].every((count) => count > 10)).toBe(true);
  expect(outcome).toHaveLength(1 + 2);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
