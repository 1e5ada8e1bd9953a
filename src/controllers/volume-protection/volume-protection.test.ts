import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { KubeObject, New } from '#api/machinery/meta/v1/index.ts';
import { volumeAttributesClasses } from '#api/groups/storage/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import {
  PvcProtectionController,
  PvProtectionController,
  VacProtectionController,
} from './index.ts';

const MERGE = 'application/merge-patch+json';

const claim = (name = 'data'): New<PersistentVolumeClaim> => ({
  metadata: { name, namespace: 'default' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
});
const pod = (volume: object, nodeName?: string, name = 'p'): New<Pod> => ({
  metadata: { name, namespace: 'default' },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    volumes: [{ name: 'v', ...volume }],
    ...(nodeName && { nodeName }),
  },
});
const using = (nodeName?: string) =>
  pod({ persistentVolumeClaim: { claimName: 'data' } }, nodeName);

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const inDefault = <T extends KubeObject>(type: ResourceType<T>) =>
  cluster.client.resource(type).namespace('default');
const isThere = async (type: ResourceType, name: string): Promise<boolean> => {
  const resource = cluster.client.resource(type as ResourceType<KubeObject>);
  try {
    await (type.namespaced ? resource.namespace('default') : resource).get(name);
    return true;
  } catch (error) {
    if (!apierrors.isNotFound(error)) throw error;
    return false;
  }
};

describe('a claim', () => {
  beforeEach(async () => void (await cluster.run((config) => new PvcProtectionController(config))));

  test('stays while a pod with a node refers to it, and is deleted after the pod', async () => {
    await inDefault(persistentVolumeClaims).create(claim());
    await inDefault(pods).create(using('n'));
    await inDefault(persistentVolumeClaims).delete('data');
    await cluster.clock.settle();
    const { metadata } = await inDefault(persistentVolumeClaims).get('data');
    expect(metadata.finalizers).toEqual(['kubernetes.io/pvc-protection']);
    await inDefault(pods).delete('p', { gracePeriodSeconds: 0 });
    await cluster.clock.settle();
    expect(await isThere(persistentVolumeClaims, 'data')).toBe(false);
  });

  test('is deleted although a pod without a node refers to it', async () => {
    await inDefault(persistentVolumeClaims).create(claim());
    await inDefault(pods).create(using());
    await inDefault(persistentVolumeClaims).delete('data');
    await cluster.clock.settle();
    expect(await isThere(persistentVolumeClaims, 'data')).toBe(false);
  });

  test('stays for a pod that the cache does not show yet', async () => {
    await inDefault(persistentVolumeClaims).create(claim());
    await cluster.clock.settle();
    cluster.faults.hold('/api/v1/pods');
    await inDefault(pods).create(using('n'));
    await inDefault(persistentVolumeClaims).delete('data');
    await cluster.clock.settle();
    expect(await isThere(persistentVolumeClaims, 'data')).toBe(true);
    cluster.faults.release('/api/v1/pods');
  });

  test('of an ephemeral volume is in use only by its own pod', async () => {
    const volume = { ephemeral: { volumeClaimTemplate: { spec: claim().spec } } };
    const owner = await inDefault(pods).create(pod(volume, 'n'));
    const ownerReferences = [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        name: 'p',
        uid: owner.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ];
    await inDefault(pods).create(pod(volume, 'n', 'q'));
    await inDefault(persistentVolumeClaims).create({
      ...claim('p-v'),
      metadata: { ...claim('p-v').metadata, ownerReferences },
    });
    await inDefault(persistentVolumeClaims).create(claim('q-v'));
    await inDefault(persistentVolumeClaims).delete('p-v');
    await inDefault(persistentVolumeClaims).delete('q-v');
    await cluster.clock.settle();
    expect([
      await isThere(persistentVolumeClaims, 'p-v'),
      await isThere(persistentVolumeClaims, 'q-v'),
    ]).toEqual([true, false]);
  });

  test('gets a lost finalizer again', async () => {
    await inDefault(persistentVolumeClaims).create(claim());
    await inDefault(persistentVolumeClaims).patch('data', MERGE, {
      metadata: { finalizers: null },
    });
    await cluster.clock.settle();
    const { metadata } = await inDefault(persistentVolumeClaims).get('data');
    expect(metadata.finalizers).toEqual(['kubernetes.io/pvc-protection']);
  });
});

test('a volume stays while it is bound', async () => {
  await cluster.run((config) => new PvProtectionController(config));
  const client = cluster.client.resource(persistentVolumes);
  const volume = await client.create({
    metadata: { name: 'pv' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/data' },
    },
  });
  expect(volume.metadata.finalizers).toEqual(['kubernetes.io/pv-protection']);
  await client.updateStatus({ ...volume, status: { phase: 'Bound' } });
  await client.delete('pv');
  await cluster.clock.settle();
  const held = await client.get('pv');
  expect(held.metadata.deletionTimestamp).toBeDefined();
  await client.updateStatus({ ...held, status: { phase: 'Released' } });
  await cluster.clock.settle();
  expect(await isThere(persistentVolumes, 'pv')).toBe(false);
});

test('a volume attributes class stays while a claim names it', async () => {
  await cluster.run((config) => new VacProtectionController(config));
  const client = cluster.client.resource(volumeAttributesClasses);
  const made = await client.create({
    metadata: { name: 'fast' },
    driverName: 'd.example.com',
    parameters: { iops: '1' },
  });
  expect(made.metadata.finalizers).toEqual(['kubernetes.io/vac-protection']);
  const wanting = { ...claim(), spec: { ...claim().spec, volumeAttributesClassName: 'fast' } };
  await inDefault(persistentVolumeClaims).create(wanting);
  await client.delete('fast');
  await cluster.clock.settle();
  expect(await isThere(volumeAttributesClasses, 'fast')).toBe(true);
  await inDefault(persistentVolumeClaims).patch('data', MERGE, { metadata: { finalizers: null } });
  await inDefault(persistentVolumeClaims).delete('data');
  await cluster.clock.settle();
  expect(await isThere(volumeAttributesClasses, 'fast')).toBe(false);
});

test('claims reach the same outcome after every fault', async () => {
  const { outcome, disturbed } = await disturb({
    subject: (config) => new PvcProtectionController(config),
    steps: [
      async ({ client }) => {
        await client.resource(persistentVolumeClaims).create(claim());
        await client.resource(persistentVolumeClaims).create(claim('unused'));
        const kept = client.resource(persistentVolumeClaims).namespace('default');
        await client.resource(persistentVolumeClaims).create(claim('kept'));
        await kept.patch('kept', MERGE, { metadata: { finalizers: null } });
        await client.resource(pods).create(using('n'));
      },
      async ({ client }) => {
        for (const name of ['data', 'unused']) {
          await client.resource(persistentVolumeClaims).namespace('default').delete(name);
        }
      },
      async ({ client }) =>
        void (await client
          .resource(pods)
          .namespace('default')
          .delete('p', { gracePeriodSeconds: 0 })),
    ],
    outcome: [persistentVolumeClaims],
    rest: '1m',
  });
  expect(outcome).toHaveLength(1);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});

test('volumes reach the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new PvProtectionController(config),
    steps: [
      async ({ client }) => {
        for (const name of ['bound', 'free', 'bare']) {
          const spec = {
            capacity: { storage: '1Gi' },
            accessModes: ['ReadWriteOnce' as const],
            hostPath: { path: '/data' },
          };
          const made = await client
            .resource(persistentVolumes)
            .create({ metadata: { name }, spec });
          if (name === 'bound')
            await client
              .resource(persistentVolumes)
              .updateStatus({ ...made, status: { phase: 'Bound' } });
        }
        await client
          .resource(persistentVolumes)
          .patch('bare', MERGE, { metadata: { finalizers: null } });
      },
      async ({ client }) => {
        for (const name of ['bound', 'free']) await client.resource(persistentVolumes).delete(name);
      },
      async ({ client }) => {
        const released = { status: { phase: 'Released' } };
        await client
          .resource(persistentVolumes)
          .patch('bound', MERGE, released, { subresource: 'status' });
      },
    ],
    outcome: [persistentVolumes],
    rest: '1m',
  });
  expect([writes, outcome.length]).toEqual([3, 1]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});

test('volume attributes classes reach the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new VacProtectionController(config),
    steps: [
      async ({ client }) => {
        for (const name of ['used', 'unused', 'bare']) {
          await client
            .resource(volumeAttributesClasses)
            .create({ metadata: { name }, driverName: 'd', parameters: { iops: '1' } });
        }
        await client
          .resource(volumeAttributesClasses)
          .patch('bare', MERGE, { metadata: { finalizers: null } });
        await client
          .resource(persistentVolumeClaims)
          .create({ ...claim(), spec: { ...claim().spec, volumeAttributesClassName: 'used' } });
      },
      async ({ client }) => {
        for (const name of ['used', 'unused'])
          await client.resource(volumeAttributesClasses).delete(name);
      },
      async ({ client }) => {
        const claims = client.resource(persistentVolumeClaims).namespace('default');
        await claims.patch('data', MERGE, { metadata: { finalizers: null } });
        await claims.delete('data');
      },
    ],
    outcome: [volumeAttributesClasses],
    rest: '1m',
  });
  expect([writes, outcome.length]).toEqual([3, 1]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
