import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { persistentVolumeClaims, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { disturb } from '../testing/robustness.ts';
import { eventsOf } from '../testing/said.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { EphemeralVolumeController } from './index.ts';

const spec = {
  accessModes: ['ReadWriteOnce' as const],
  resources: { requests: { storage: '1Gi' } },
};
const pod: New<Pod> = {
  metadata: { name: 'p', namespace: 'default' },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    volumes: [
      {
        name: 'scratch',
        ephemeral: {
          volumeClaimTemplate: { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec },
        },
      },
      { name: 'empty', emptyDir: {} },
    ],
  },
};

describe('the claim of an ephemeral volume', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.run((config) => new EphemeralVolumeController(config));
  });
  afterEach(() => cluster.stop());
  const claims = () => cluster.client.resource(persistentVolumeClaims).namespace('default');
  const said = async () =>
    (await eventsOf(cluster.client)).map(
      ({ type, reason, message }) => `${type} ${reason}: ${message}`,
    );

  test('is created from the template, and owned by the pod', async () => {
    const { metadata } = await cluster.client.resource(pods).create(pod);
    await cluster.clock.settle();
    const { items } = await claims().list();
    expect(items).toMatchObject([
      {
        metadata: {
          name: 'p-scratch',
          labels: { a: 'b' },
          annotations: { c: 'd' },
          ownerReferences: [
            {
              apiVersion: 'v1',
              kind: 'Pod',
              name: 'p',
              uid: metadata.uid,
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
        spec,
      },
    ]);
  });

  test('is created again after a deletion', async () => {
    await cluster.client.resource(pods).create(pod);
    await cluster.clock.settle();
    const before = await claims().get('p-scratch');
    await claims().patch('p-scratch', 'application/merge-patch+json', {
      metadata: { finalizers: null },
    });
    await claims().delete('p-scratch');
    await cluster.clock.settle();
    expect((await claims().get('p-scratch')).metadata.uid).not.toBe(before.metadata.uid);
  });

  test('of another owner blocks the pod’s claim until it is deleted', async () => {
    await claims().create({ metadata: { name: 'p-scratch', finalizers: [] }, spec });
    await cluster.client.resource(pods).create(pod);
    await cluster.clock.settle();
    expect(await said()).toEqual([
      'Warning FailedBinding: ephemeral volume scratch: PVC default/p-scratch was not ' +
        'created for pod default/p (pod is not owner)',
    ]);
    await claims().patch('p-scratch', 'application/merge-patch+json', {
      metadata: { finalizers: null },
    });
    await claims().delete('p-scratch');
    await cluster.clock.settle();
    expect((await claims().get('p-scratch')).metadata.ownerReferences).toHaveLength(1);
  });

  test('that the server rejects is reported in an event', async () => {
    const refusal = () =>
      apierrors.forbidden({ group: '', resource: 'persistentvolumeclaims' }, 'p-scratch', 'no');
    cluster.faults.fail('POST', /persistentvolumeclaims/, refusal);
    await cluster.client.resource(pods).create(pod);
    await cluster.clock.advance('1s');
    expect(await said()).toEqual([
      'Warning FailedBinding: ephemeral volume scratch: create PVC p-scratch: ' +
        'persistentvolumeclaims "p-scratch" is forbidden: no',
    ]);
    expect((await claims().list()).items).toHaveLength(1);
  });
});

test('reaches the same outcome after every fault', async () => {
  const { outcome, disturbed } = await disturb({
    subject: (config) => new EphemeralVolumeController(config),
    steps: [
      async ({ client }) => {
        await client.resource(pods).create(pod);
        await client.resource(pods).create({ ...pod, metadata: { ...pod.metadata, name: 'q' } });
      },
    ],
    outcome: [persistentVolumeClaims],
    rest: '1m',
  });
  expect(outcome).toHaveLength(2);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
