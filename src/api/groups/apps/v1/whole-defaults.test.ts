// The complete default specs of workloads: there are no other defaults.

import { expect, test } from 'vitest';

import { manifest } from '#api/testing/manifest.ts';

const POD = {
  restartPolicy: 'Always',
  dnsPolicy: 'ClusterFirst',
  schedulerName: 'default-scheduler',
  securityContext: {},
  terminationGracePeriodSeconds: 30,
  containers: [],
};
const retain = { whenDeleted: 'Retain', whenScaled: 'Retain' };
const statefulSet = {
  replicas: 1,
  podManagementPolicy: 'OrderedReady',
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
  persistentVolumeClaimRetentionPolicy: retain,
  revisionHistoryLimit: 10,
};
const deployment = {
  replicas: 1,
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
  revisionHistoryLimit: 10,
  progressDeadlineSeconds: 600,
};
const daemonSet = {
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
  revisionHistoryLimit: 10,
};

test.each<[kind: string, given: string, expected: object]>([
  ['DaemonSet', '', daemonSet],
  ['DaemonSet', 'revisionHistoryLimit: 1', { ...daemonSet, revisionHistoryLimit: 1 }],
  [
    'DaemonSet',
    'updateStrategy: {type: OnDelete}',
    { ...daemonSet, updateStrategy: { type: 'OnDelete' } },
  ],
  ['StatefulSet', '', statefulSet],
  [
    'StatefulSet',
    'updateStrategy: {type: OnDelete}',
    { ...statefulSet, updateStrategy: { type: 'OnDelete' } },
  ],
  [
    'StatefulSet',
    'podManagementPolicy: Parallel',
    { ...statefulSet, podManagementPolicy: 'Parallel' },
  ],
  [
    'StatefulSet',
    'updateStrategy: {rollingUpdate: {partition: 42}}',
    { ...statefulSet, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 42 } } },
  ],
  [
    'StatefulSet',
    'updateStrategy: {rollingUpdate: {partition: 42, maxUnavailable: 3}}',
    {
      ...statefulSet,
      updateStrategy: {
        type: 'RollingUpdate',
        rollingUpdate: { partition: 42, maxUnavailable: 3 },
      },
    },
  ],
  [
    'StatefulSet',
    'persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}',
    { ...statefulSet, persistentVolumeClaimRetentionPolicy: { ...retain, whenScaled: 'Delete' } },
  ],
  [
    'StatefulSet',
    'persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}',
    { ...statefulSet, persistentVolumeClaimRetentionPolicy: { ...retain, whenDeleted: 'Delete' } },
  ],
  ['Deployment', '', deployment],
  [
    'Deployment',
    'replicas: 5, strategy: {rollingUpdate: {maxSurge: 5}}',
    {
      ...deployment,
      replicas: 5,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: 5 } },
    },
  ],
  ['Deployment', 'replicas: 3, strategy: {type: RollingUpdate}', { ...deployment, replicas: 3 }],
  [
    'Deployment',
    'replicas: 5, strategy: {type: Recreate}, revisionHistoryLimit: 0',
    { ...deployment, replicas: 5, strategy: { type: 'Recreate' }, revisionHistoryLimit: 0 },
  ],
  [
    'Deployment',
    'strategy: {type: Recreate}, progressDeadlineSeconds: 30, revisionHistoryLimit: 2',
    {
      replicas: 1,
      strategy: { type: 'Recreate' },
      progressDeadlineSeconds: 30,
      revisionHistoryLimit: 2,
    },
  ],
  ['ReplicaSet', '', { replicas: 1 }],
  ['ReplicaSet', 'replicas: 0', { replicas: 0 }],
  ['ReplicaSet', 'replicas: 3', { replicas: 3 }],
])('%s: %s', (kind, given, expected) => {
  const { metadata, spec } = manifest<{
    metadata: object;
    spec: { template: { spec: object } } & Record<string, unknown>;
  }>(
    `apps/v1.${kind}`,
    `metadata: {}\nspec: {template: {metadata: {labels: {foo: bar}}, spec: {containers: []}}, ${given}}`,
  );
  // Always-written fields are not compared.
  const { template, selector: _, serviceName: _2, ...others } = spec;
  expect(others).toEqual(expected);
  expect(template.spec).toEqual(POD);
  expect(metadata).not.toHaveProperty('labels');
});

test('in a template, limits are no default of requests', () => {
  const { spec } = manifest<{ spec: { template: { spec: { containers: object[] } } } }>(
    'apps/v1.ReplicaSet',
    'spec: {template: {spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 100m}}}]}}}',
  );
  expect(spec.template.spec.containers).toMatchObject([{ resources: { limits: { cpu: '100m' } } }]);
  expect(spec.template.spec.containers[0]).not.toHaveProperty('resources.requests');
});
