import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  type ResourceRequests,
  startWorkloadServer,
  type WorkloadServer,
} from '#apiserver/testing/workloads.ts';

let t: WorkloadServer;
let statefulSets: ResourceRequests;
beforeEach(async () => {
  t = await startWorkloadServer();
  statefulSets = t.resource('/apis/apps/v1/namespaces/default/statefulsets');
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const claim = (storage: string) => ({
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
});
const statefulSet = (name = 'db', spec: object = {}) => ({
  metadata: { name },
  spec: {
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: {
      metadata: { labels: { app: 'db' } },
      spec: {
        containers: [
          { name: 'c', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/data' }] },
        ],
      },
    },
    volumeClaimTemplates: [claim('1Gi')],
    ...spec,
  },
});

describe('stateful sets', () => {
  test('are created with defaults and without a status', async () => {
    const { code, object } = await statefulSets.create({
      ...statefulSet(),
      status: { replicas: 7, currentRevision: 'x' },
    });
    expect(code).toBe(201);
    expect(object.metadata.generation).toBe(1);
    expect(object.status).toEqual({ replicas: 0, availableReplicas: 0 });
    expect(object.spec).toMatchObject({
      replicas: 1,
      podManagementPolicy: 'OrderedReady',
      volumeClaimTemplates: [
        { apiVersion: 'v1', kind: 'PersistentVolumeClaim', status: { phase: 'Pending' } },
      ],
    });
  });

  test('have names that fit into host names', async () => {
    const { code, causes } = await statefulSets.create(statefulSet('db.1'));
    expect([code, causes]).toEqual([422, ['metadata.name']]);
  });

  test('warn about surprising fields on each write', async () => {
    const claims = 'fractional byte value "1500m" is invalid, must be an integer';
    const history =
      'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended';
    const created = await statefulSets.create(
      statefulSet('db', { volumeClaimTemplates: [claim('1500m')], revisionHistoryLimit: -1 }),
    );
    expect(created.warnings).toEqual([
      `spec.volumeClaimTemplates[0].resources.requests[storage]: ${claims}`,
      history,
    ]);
    const changed = await statefulSets.patch('db', { metadata: { labels: { a: 'b' } } });
    expect(changed.warnings).toEqual([
      `spec.volumeClaimTemplates[0].Spec.resources.requests[storage]: ${claims}`,
      history,
    ]);
  });

  test('allow some changes, and count them', async () => {
    await statefulSets.create(statefulSet());
    const scaled = await statefulSets.patch('db', { spec: { replicas: 3, minReadySeconds: 2 } });
    expect([scaled.code, scaled.object.metadata.generation]).toEqual([200, 2]);
    const refused = await statefulSets.patch('db', { spec: { serviceName: 'other' } });
    expect([refused.code, refused.causes]).toEqual([422, ['spec']]);
    const annotated = await statefulSets.patch('db', { metadata: { annotations: { a: 'b' } } });
    expect(annotated.object.metadata.generation).toBe(2);
  });

  test('drop maxUnavailable, whose feature is disabled', async () => {
    const updateStrategy = {
      type: 'RollingUpdate',
      rollingUpdate: { partition: 1, maxUnavailable: -1 },
    };
    const created = await statefulSets.create(statefulSet('db', { updateStrategy }));
    expect(created.object.spec['updateStrategy']).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { partition: 1 },
    });
    const changed = await statefulSets.patch('db', {
      spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 2 } } },
    });
    expect(changed.object.spec['updateStrategy']).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { partition: 1 },
    });
  });

  test('have a separate status', async () => {
    await statefulSets.create(statefulSet());
    const changed = await statefulSets.patch('db/status', {
      spec: { replicas: 9 },
      status: { replicas: 1, readyReplicas: 1 },
    });
    expect(changed.object.status).toEqual({ replicas: 1, readyReplicas: 1, availableReplicas: 0 });
    expect(changed.object.spec).toMatchObject({ replicas: 1 });
    const refused = await statefulSets.patch('db/status', { status: { currentReplicas: 2 } });
    expect([refused.code, refused.causes]).toEqual([422, ['status.currentReplicas']]);
  });

  test('can be scaled', async () => {
    await statefulSets.create(statefulSet());
    expect((await statefulSets.get('db/scale')).object.status).toEqual({
      replicas: 0,
      selector: 'app=db',
    });
    await statefulSets.patch('db/scale', { spec: { replicas: 4 } });
    expect((await statefulSets.get('db')).object.spec).toMatchObject({ replicas: 4 });
  });

  test('have a table', async () => {
    await statefulSets.create(statefulSet());
    const { columns, rows } = await statefulSets.table();
    expect(columns).toEqual(['Name', 'Ready', 'Age', 'Containers', 'Images']);
    expect(rows).toEqual([['db', '0/1', '0s', 'c', 'i']]);
  });
});
