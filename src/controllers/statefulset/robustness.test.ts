import { expect, test } from 'vitest';
import { controllerRevisions, type StatefulSet, statefulSets } from '#api/groups/apps/v1/index.ts';
import { persistentVolumeClaims, pods } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { readyPods } from '../testing/ready-pods.ts';
import { disturb } from '../testing/robustness.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { StatefulSetController } from './index.ts';

const db = (spec: object): New<StatefulSet> => ({
  metadata: { name: 'db', namespace: 'default' },
  spec: {
    replicas: 2,
    revisionHistoryLimit: 0,
    selector: { matchLabels: { app: 'db' } },
    template: {
      metadata: { labels: { app: 'db' } },
      spec: { containers: [{ name: 'c', image: 'busybox:1' }] },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
    persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Delete' },
    ...spec,
  },
});

const patch = (spec: object) => async (cluster: TestCluster) => {
  const namespaced = cluster.client.resource(statefulSets).namespace('default');
  await namespaced.patch('db', 'application/strategic-merge-patch+json', { spec });
};

test.each([
  ['in order', {}],
  ['in parallel', { podManagementPolicy: 'Parallel' }],
])('a StatefulSet managed %s ends the same, whatever goes wrong', async (_, spec) => {
  const { writes, events, outcome, disturbed } = await disturb({
    subject: (config) => new StatefulSetController(config),
    others: [readyPods()],
    steps: [
      async ({ client }) => void (await client.resource(statefulSets).create(db(spec))),
      patch({ template: { spec: { containers: [{ name: 'c', image: 'busybox:2' }] } } }),
      patch({ replicas: 1 }),
    ],
    outcome: [statefulSets, controllerRevisions, pods, persistentVolumeClaims],
    rest: '2m',
  });
  expect([writes, events].every((count) => count > 10)).toBe(true);
  // The second claim stays, since no garbage collector runs.
  expect(outcome).toHaveLength(1 + 1 + 1 + 2);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
