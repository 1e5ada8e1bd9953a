// The default of each field of a workload. Explicit values are kept.

import { describe, expect, test } from 'vitest';

import { manifest } from '#api/testing/manifest.ts';
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from './types.ts';

const template = 'template: {spec: {containers: [{name: c, image: i}]}}';

describe('deployments', () => {
  const deployment = (spec: string): Deployment['spec'] =>
    manifest<Deployment>('apps/v1.Deployment', `spec: {${template}, ${spec}}`).spec;

  test.each<[given: string, defaults: object]>([
    [
      '',
      {
        replicas: 1,
        strategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' },
        },
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
      },
    ],
    ['replicas: 0', { replicas: 0 }],
    ['strategy: {type: Recreate}', { strategy: { type: 'Recreate' } }],
    [
      'strategy: {rollingUpdate: {maxSurge: 0}}',
      {
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: 0 } },
      },
    ],
    [
      'strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 2}}',
      {
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2, maxSurge: '25%' } },
      },
    ],
    [
      'revisionHistoryLimit: 0, progressDeadlineSeconds: 7',
      { revisionHistoryLimit: 0, progressDeadlineSeconds: 7 },
    ],
  ])('%s', (given, defaults) => {
    expect(deployment(given)).toMatchObject(defaults);
  });

  test('the template has the defaults of pods', () => {
    expect(deployment('').template.spec).toMatchObject({
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
    });
  });
});

describe('replica sets', () => {
  const replicaSet = (spec: string): ReplicaSet['spec'] =>
    manifest<ReplicaSet>('apps/v1.ReplicaSet', `spec: {${template}, ${spec}}`).spec;

  test.each([
    ['', 1],
    ['replicas: 0', 0],
    ['replicas: 3', 3],
  ])('%s', (given, replicas) => {
    expect(replicaSet(given)).toMatchObject({
      replicas,
      template: { spec: { restartPolicy: 'Always' } },
    });
  });
});

describe('stateful sets', () => {
  const statefulSet = (spec: string): StatefulSet['spec'] =>
    manifest<StatefulSet>('apps/v1.StatefulSet', `spec: {${template}, ${spec}}`).spec;
  const retain = { whenDeleted: 'Retain', whenScaled: 'Retain' };

  test.each<[given: string, defaults: object]>([
    [
      '',
      {
        replicas: 1,
        podManagementPolicy: 'OrderedReady',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
        persistentVolumeClaimRetentionPolicy: retain,
        revisionHistoryLimit: 10,
      },
    ],
    ['podManagementPolicy: Parallel', { podManagementPolicy: 'Parallel' }],
    ['updateStrategy: {type: OnDelete}', { updateStrategy: { type: 'OnDelete' } }],
    // A type without parameters gets none.
    ['updateStrategy: {type: RollingUpdate}', { updateStrategy: { type: 'RollingUpdate' } }],
    [
      'updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 3}}',
      { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 3 } } },
    ],
    [
      'updateStrategy: {rollingUpdate: {maxUnavailable: 50%}}',
      {
        updateStrategy: {
          type: 'RollingUpdate',
          rollingUpdate: { partition: 0, maxUnavailable: '50%' },
        },
      },
    ],
    [
      'persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}',
      { persistentVolumeClaimRetentionPolicy: { ...retain, whenDeleted: 'Delete' } },
    ],
    ['replicas: 0, revisionHistoryLimit: 0', { replicas: 0, revisionHistoryLimit: 0 }],
  ])('%s', (given, defaults) => {
    expect(statefulSet(given)).toMatchObject(defaults);
  });

  test('an explicit strategy gets no parameters', () => {
    expect(statefulSet('updateStrategy: {type: RollingUpdate}').updateStrategy).toEqual({
      type: 'RollingUpdate',
    });
  });

  test('each claim template has its type', () => {
    const claim =
      'volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: 0.5m}}}}]';
    expect(statefulSet(claim).volumeClaimTemplates).toMatchObject([
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data' },
        spec: { volumeMode: 'Filesystem', resources: { requests: { storage: '1m' } } },
        status: { phase: 'Pending' },
      },
    ]);
  });
});

describe('daemon sets', () => {
  const daemonSet = (spec: string): DaemonSet['spec'] =>
    manifest<DaemonSet>('apps/v1.DaemonSet', `spec: {${template}, ${spec}}`).spec;

  test.each<[given: string, defaults: object]>([
    [
      '',
      {
        updateStrategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
        },
        revisionHistoryLimit: 10,
        template: { spec: { restartPolicy: 'Always' } },
      },
    ],
    ['updateStrategy: {type: OnDelete}', { updateStrategy: { type: 'OnDelete' } }],
    [
      'updateStrategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 10%}}',
      {
        updateStrategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxUnavailable: 0, maxSurge: '10%' },
        },
      },
    ],
    ['revisionHistoryLimit: 0', { revisionHistoryLimit: 0 }],
  ])('%s', (given, defaults) => {
    expect(daemonSet(given)).toMatchObject(defaults);
  });
});
