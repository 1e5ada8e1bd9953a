import { expect, test } from 'vitest';
import { type Deployment, deployments, replicaSets } from '#api/groups/apps/v1/index.ts';
import { pods } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { ReplicaManager, replicaSetKind } from '../replicaset/index.ts';
import { readyPods } from '../testing/ready-pods.ts';
import { disturb } from '../testing/robustness.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { DeploymentController } from './index.ts';

const web = (image: string, spec: New<Deployment['spec']> = {}): New<Deployment> => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 2,
    revisionHistoryLimit: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image }] },
    },
    ...spec,
  },
});

const update = (image: string) => async (cluster: TestCluster) => {
  const patch = { spec: { template: { spec: { containers: [{ name: 'c', image }] } } } };
  await cluster.client
    .resource(deployments)
    .namespace('default')
    .patch('web', 'application/strategic-merge-patch+json', patch);
};

test.each([
  ['rolling update', {}, [update('busybox:2'), update('busybox:3')]],
  ['recreate', { strategy: { type: 'Recreate' as const } }, [update('busybox:2')]],
])('a %s ends the same, whatever goes wrong', { timeout: 240_000 }, async (_, spec, updates) => {
  const { writes, events, outcome, disturbed } = await disturb({
    subject: (config) => new DeploymentController(config),
    others: [(config) => new ReplicaManager({ ...config, kind: replicaSetKind }), readyPods()],
    steps: [
      async ({ client }) =>
        void (await client.resource(deployments).create(web('busybox:1', spec))),
      ...updates,
    ],
    outcome: [deployments, replicaSets, pods],
    rest: '1m',
  });
  expect([writes, events].every((count) => count > 10)).toBe(true);
  expect(outcome).toHaveLength(1 + 2 + 2);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
