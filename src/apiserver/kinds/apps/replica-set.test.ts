import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  type ResourceRequests,
  startWorkloadServer,
  type WorkloadServer,
} from '#apiserver/testing/workloads.ts';

let t: WorkloadServer;
let replicaSets: ResourceRequests;
beforeEach(async () => {
  t = await startWorkloadServer();
  replicaSets = t.resource('/apis/apps/v1/namespaces/default/replicasets');
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const replicaSet = (name = 'web', podSpec: object = {}) => ({
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'i' }], ...podSpec },
    },
  },
});

describe('replica sets', () => {
  test('are created with defaults and without a status', async () => {
    const { code, object } = await replicaSets.create({ ...replicaSet(), status: { replicas: 7 } });
    expect(code).toBe(201);
    expect([object.metadata.generation, object.spec['replicas'], object.status]).toEqual([
      1,
      1,
      { replicas: 0 },
    ]);
  });

  test('cause warnings about surprising fields', async () => {
    const { warnings } = await replicaSets.create(
      replicaSet('web.1', { terminationGracePeriodSeconds: -1 }),
    );
    expect(warnings).toHaveLength(2);
    expect(
      (await replicaSets.patch('web.1', { metadata: { labels: { a: 'b' } } })).warnings,
    ).toEqual([]);
    expect((await replicaSets.patch('web.1', { spec: { replicas: 2 } })).warnings).toHaveLength(1);
  });

  test('count changes of the spec, and keep their selector', async () => {
    await replicaSets.create(replicaSet());
    expect(
      (await replicaSets.patch('web', { metadata: { annotations: { a: 'b' } } })).object.metadata
        .generation,
    ).toBe(1);
    expect(
      (await replicaSets.patch('web', { spec: { replicas: 3 } })).object.metadata.generation,
    ).toBe(2);
    const labels = { more: 'labels' };
    const refused = await replicaSets.patch('web', {
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } },
    });
    expect([refused.code, refused.causes]).toEqual([422, ['spec.selector']]);
  });

  test('have a separate status, and a selectable field of it', async () => {
    await replicaSets.create(replicaSet());
    await replicaSets.create(replicaSet('other'));
    const changed = await replicaSets.patch('web/status', {
      spec: { replicas: 9 },
      status: { replicas: 2, readyReplicas: 1 },
    });
    expect(changed.object.status).toEqual({ replicas: 2, readyReplicas: 1 });
    expect(changed.object.spec['replicas']).toBe(1);
    const refused = await replicaSets.patch('web/status', { status: { readyReplicas: 3 } });
    expect([refused.code, refused.causes]).toEqual([422, ['status.readyReplicas']]);
  });

  test('can be scaled', async () => {
    await replicaSets.create(replicaSet());
    await replicaSets.patch('web/scale', { spec: { replicas: 4 } });
    expect((await replicaSets.get('web')).object.spec['replicas']).toBe(4);
  });

  test('have a table', async () => {
    await replicaSets.create(replicaSet());
    expect((await replicaSets.table()).rows).toEqual([['web', 1, 0, 0, '0s', 'c', 'i', 'app=web']]);
  });
});
