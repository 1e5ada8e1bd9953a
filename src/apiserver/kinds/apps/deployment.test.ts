import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  type ResourceRequests,
  startWorkloadServer,
  type WorkloadServer,
} from '#apiserver/testing/workloads.ts';

let t: WorkloadServer;
let deployments: ResourceRequests;
beforeEach(async () => {
  t = await startWorkloadServer();
  deployments = t.resource('/apis/apps/v1/namespaces/default/deployments');
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const container = { name: 'c', image: 'i' };
const deployment = (name = 'web', spec: object = {}, podSpec: object = {}) => ({
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [container], ...podSpec },
    },
    ...spec,
  },
});

describe('deployments', () => {
  test('are created with defaults and without a status', async () => {
    const { code, object, warnings } = await deployments.create({
      ...deployment(),
      status: { replicas: 7 },
    });
    expect(code).toBe(201);
    expect(object.metadata.generation).toBe(1);
    expect(object.status).toEqual({});
    expect(object.spec).toMatchObject({
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate' },
    });
    expect(warnings).toEqual([]);
  });

  test('are rejected with every cause', async () => {
    const { code, message, causes } = await deployments.create(
      deployment('web', { replicas: -1, selector: null }),
    );
    expect(code).toBe(422);
    expect(message).toBe(
      'Deployment.apps "web" is invalid: [spec.replicas: Invalid value: -1: must be greater ' +
        'than or equal to 0, spec.selector: Required value, spec.template.metadata.labels: ' +
        'Invalid value: {"app":"web"}: `selector` does not match template `labels`]',
    );
    expect(causes).toEqual(['spec.replicas', 'spec.selector', 'spec.template.metadata.labels']);
  });

  test('cause warnings about surprising fields', async () => {
    const { code, warnings } = await deployments.create(
      deployment('web.1', {}, { terminationGracePeriodSeconds: -1 }),
    );
    expect(code).toBe(201);
    expect(warnings).toEqual([
      'metadata.name: this is used in Pod names and hostnames, which can result in surprising ' +
        'behavior; a DNS label is recommended: [must not contain dots]',
      'spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are ' +
        'invalid and will be treated as 1',
    ]);
    const scaled = await deployments.patch('web.1', { metadata: { labels: { a: 'b' } } });
    expect(scaled.warnings).toEqual([]);
    const changed = await deployments.patch('web.1', { spec: { replicas: 3 } });
    expect(changed.warnings).toHaveLength(1);
    const again = await deployments.put(
      'web.1?dryRun=All',
      deployment('web.1', {}, { imagePullSecrets: [{}] }),
    );
    expect(again.warnings).toEqual([
      'spec.template.spec.imagePullSecrets[0].name: invalid empty name ""',
    ]);
  });

  test('warn again on updates', async () => {
    const policy = (seLinuxChangePolicy: string) =>
      deployment('web', {}, { securityContext: { seLinuxChangePolicy } });
    expect((await deployments.create(policy('MountOption'))).causes).toEqual([
      'spec.template.spec.securityContext.seLinuxChangePolicy',
    ]);
    expect((await deployments.create(policy('Recursive'))).code).toBe(201);
    expect((await deployments.put('web', policy('MountOption'))).code).toBe(200);
  });

  test('count changes of spec and annotations as generations', async () => {
    await deployments.create(deployment());
    const generationAfter = async (patch: object) =>
      (await deployments.patch('web', patch)).object.metadata.generation;
    expect(await generationAfter({ metadata: { labels: { a: 'b' } } })).toBe(1);
    expect(await generationAfter({ spec: { replicas: 3 } })).toBe(2);
    expect(await generationAfter({ metadata: { annotations: { a: 'b' } } })).toBe(3);
    expect(await generationAfter({ spec: { replicas: 3 }, status: { replicas: 3 } })).toBe(3);
  });

  test('keep their selector', async () => {
    const { object } = await deployments.create(deployment());
    const labels = { app: 'web', more: 'labels' };
    const { code, causes } = await deployments.put('web', {
      ...object,
      spec: {
        ...object.spec,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container] } },
      },
    });
    expect(code).toBe(422);
    expect(causes).toEqual(['spec.selector']);
  });

  test('have a separate status', async () => {
    const { object } = await deployments.create({
      ...deployment(),
      metadata: { name: 'web', labels: { a: 'b' } },
    });
    const changed = await deployments.put('web/status', {
      ...object,
      metadata: { ...object.metadata, labels: { c: 'd' }, annotations: { e: 'f' } },
      spec: { ...object.spec, replicas: 9 },
      status: { replicas: 2, readyReplicas: 1, observedGeneration: 1 },
    });
    expect(changed.code).toBe(200);
    expect(changed.object.status).toEqual({ replicas: 2, readyReplicas: 1, observedGeneration: 1 });
    expect(changed.object.spec).toMatchObject({ replicas: 2 });
    expect(changed.object.metadata).toMatchObject({
      generation: 1,
      labels: { a: 'b' },
      annotations: { e: 'f' },
    });
    const refused = await deployments.patch('web/status', { status: { readyReplicas: 3 } });
    expect([refused.code, refused.causes]).toEqual([422, ['status.readyReplicas']]);
    const kept = await deployments.patch('web', { spec: { replicas: 4 }, status: { replicas: 0 } });
    expect(kept.object.status).toMatchObject({ replicas: 2 });
  });

  test('can be scaled', async () => {
    await deployments.create(deployment());
    await deployments.patch('web/status', { status: { replicas: 1 } });
    const scale = await deployments.get('web/scale');
    expect(scale.object).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'app=web' },
    });
    const scaled = await deployments.put('web/scale', { ...scale.object, spec: { replicas: 5 } });
    expect(scaled.object.spec).toEqual({ replicas: 5 });
    const { object } = await deployments.get('web');
    expect([object.spec['replicas'], object.metadata.generation]).toEqual([5, 2]);
    const refused = await deployments.patch('web/scale', { spec: { replicas: -1 } });
    expect([refused.code, refused.causes]).toEqual([422, ['spec.replicas']]);
  });

  test('are deleted with their replica sets', async () => {
    await deployments.create(deployment());
    expect((await deployments.delete('web')).code).toBe(200);
    expect((await deployments.get('web')).code).toBe(404);
  });

  test('have a table', async () => {
    await deployments.create(deployment());
    const { columns, rows } = await deployments.table();
    expect(columns.slice(0, 5)).toEqual(['Name', 'Ready', 'Up-to-date', 'Available', 'Age']);
    expect(rows).toEqual([['web', '0/2', 0, 0, '0s', 'c', 'i', 'app=web']]);
  });
});
