import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { controllerRevisions, statefulSets } from '#api/groups/apps/v1/index.ts';
import { events, persistentVolumeClaims, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { readyPods } from '../testing/ready-pods.ts';
import { PvcProtectionController } from '../volume-protection/index.ts';
import { StatefulSetController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

/** Pods of the image 'bad' never become ready. */
async function start(): Promise<void> {
  await cluster.run((config) => new StatefulSetController(config));
  await cluster.run(readyPods((pod) => imageOf(pod) !== 'bad'));
}

const imageOf = (pod: Immutable<Pod>) => pod.spec.containers[0]?.image;
const sets = () => cluster.client.resource(statefulSets).namespace('default');
const podsOf = () => cluster.client.resource(pods).namespace('default');
const claims = () => cluster.client.resource(persistentVolumeClaims).namespace('default');
const settle = () => cluster.clock.advance('5s');

async function create(spec: object = {}): Promise<void> {
  await sets().create({
    metadata: { name: 'db' },
    spec: {
      replicas: 3,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template: {
        metadata: { labels: { app: 'db' } },
        spec: { containers: [{ name: 'c', image: 'one' }] },
      },
      ...spec,
    },
  });
  await settle();
}
async function patch(spec: object): Promise<void> {
  await sets().patch('db', 'application/strategic-merge-patch+json', { spec });
  await settle();
}
const setImage = (image: string, rest: object = {}) =>
  patch({ template: { spec: { containers: [{ name: 'c', image }] } }, ...rest });

/** Returns 'name image' of each pod, ordered by name. */
async function running(): Promise<string[]> {
  const { items } = await podsOf().list();
  return items.map((pod) => `${pod.metadata.name} ${imageOf(pod)}`);
}
const volumes = {
  volumeClaimTemplates: [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ],
};
async function owners(): Promise<string[]> {
  const { items } = await claims().list();
  return items.map(
    ({ metadata }) =>
      `${metadata.name}: ${(metadata.ownerReferences ?? []).map(({ name }) => name).join()}`,
  );
}

describe('StatefulSetController', () => {
  test('gives each pod its name, host name, labels and claims', async () => {
    await start();
    await create({ ...volumes, replicas: 1, ordinals: { start: 5 } });
    const pod = await podsOf().get('db-5');
    const { status } = await sets().get('db');
    expect(pod.metadata.labels).toEqual({
      app: 'db',
      'apps.kubernetes.io/pod-index': '5',
      'controller-revision-hash': status.updateRevision,
      'statefulset.kubernetes.io/pod-name': 'db-5',
    });
    expect(pod.spec).toMatchObject({ hostname: 'db-5', subdomain: 'db' });
    expect(pod.spec.volumes?.[0]).toEqual({
      name: 'data',
      persistentVolumeClaim: { claimName: 'data-db-5' },
    });
    expect((await claims().get('data-db-5')).metadata.labels).toEqual({ app: 'db' });
    expect(status).toEqual({
      observedGeneration: 1,
      replicas: 1,
      readyReplicas: 1,
      currentReplicas: 1,
      updatedReplicas: 1,
      currentRevision: status.updateRevision,
      updateRevision: status.updateRevision,
      collisionCount: 0,
      availableReplicas: 1,
    });
    const { items } = await cluster.client.resource(events).namespace('default').list();
    // Events within one millisecond have no defined order.
    expect(items.map(({ reason, message }) => `${reason}: ${message}`).sort()).toEqual([
      'SuccessfulCreate: create Claim data-db-5 Pod db-5 in StatefulSet db success',
      'SuccessfulCreate: create Pod db-5 in StatefulSet db successful',
    ]);
  });

  test('creates a pod when those before it are available, and deletes the last one first', async () => {
    await start();
    await create({ minReadySeconds: 60 });
    expect(await running()).toEqual(['db-0 one']);
    await cluster.clock.advance('60s');
    expect(await running()).toEqual(['db-0 one', 'db-1 one']);
    await cluster.clock.advance('2m');
    expect(await running()).toHaveLength(3);
    expect((await sets().get('db')).status.availableReplicas).toBe(3);
    const seen: string[] = [];
    await patch({ replicas: 1, minReadySeconds: 0 });
    const { items } = await cluster.client.resource(events).namespace('default').list();
    seen.push(
      ...items
        .filter(({ reason }) => reason === 'SuccessfulDelete')
        .map(({ message = '' }) => message),
    );
    expect(seen.sort()).toEqual([
      'delete Pod db-1 in StatefulSet db successful',
      'delete Pod db-2 in StatefulSet db successful',
    ]);
    expect(await running()).toEqual(['db-0 one']);
  });

  test('waits for a pod that is not ready, unless in parallel', async () => {
    await start();
    await create({
      template: {
        metadata: { labels: { app: 'db' } },
        spec: { containers: [{ name: 'c', image: 'bad' }] },
      },
    });
    expect(await running()).toEqual(['db-0 bad']);
    await sets().delete('db');
    await podsOf().delete('db-0');
    await create({
      podManagementPolicy: 'Parallel',
      template: {
        metadata: { labels: { app: 'db' } },
        spec: { containers: [{ name: 'c', image: 'bad' }] },
      },
    });
    expect(await running()).toEqual(['db-0 bad', 'db-1 bad', 'db-2 bad']);
  });

  test('updates from the last pod down to the partition, and stops at one that fails', async () => {
    await start();
    const rollingUpdate = (partition: number) => ({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } },
    });
    await create(rollingUpdate(2));
    await setImage('two');
    expect(await running()).toEqual(['db-0 one', 'db-1 one', 'db-2 two']);
    const { currentRevision, updateRevision, currentReplicas, updatedReplicas } = (
      await sets().get('db')
    ).status;
    expect([currentReplicas, updatedReplicas, currentRevision !== updateRevision]).toEqual([
      2,
      1,
      true,
    ]);
    // A pod below the partition is created again with its previous revision.
    await podsOf().delete('db-0');
    await settle();
    expect(await running()).toEqual(['db-0 one', 'db-1 one', 'db-2 two']);
    await setImage('bad', rollingUpdate(0));
    expect(await running()).toEqual(['db-0 one', 'db-1 one', 'db-2 bad']);
    // The earlier revision is used again, and the failed pod has to be deleted by hand.
    await setImage('two');
    await podsOf().delete('db-2');
    await settle();
    expect(await running()).toEqual(['db-0 two', 'db-1 two', 'db-2 two']);
    const { status } = await sets().get('db');
    expect([status.currentRevision, status.currentReplicas]).toEqual([status.updateRevision, 3]);
    const { items } = await cluster.client
      .resource(controllerRevisions)
      .namespace('default')
      .list();
    expect(items.map(({ revision }) => revision).toSorted((a, b) => a - b)).toEqual([1, 3, 4]);
  });

  test('replaces failed pods one after the other, even in parallel', async () => {
    await start();
    await create({ podManagementPolicy: 'Parallel' });
    await setImage('bad');
    expect(await running()).toEqual(['db-0 one', 'db-1 one', 'db-2 bad']);
    for (const name of ['db-0', 'db-1']) {
      const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: null }];
      await podsOf().patch(
        name,
        'application/merge-patch+json',
        { status: { conditions } },
        { subresource: 'status' },
      );
    }
    await setImage('two');
    expect(await running()).toEqual(['db-0 two', 'db-1 two', 'db-2 two']);
  });

  test('with OnDelete waits for users to delete pods', async () => {
    await start();
    await create({ updateStrategy: { type: 'OnDelete' } });
    await setImage('two');
    expect(await running()).toEqual(['db-0 one', 'db-1 one', 'db-2 one']);
    await podsOf().delete('db-1');
    await settle();
    expect(await running()).toEqual(['db-0 one', 'db-1 two', 'db-2 one']);
  });

  test('creates no second pod of an ordinal while the old one may still run', async () => {
    await start();
    await create({ podManagementPolicy: 'Parallel' });
    await podsOf().patch('db-1', 'application/merge-patch+json', {
      metadata: { finalizers: ['example.com/lost-node'] },
    });
    const { uid } = (await podsOf().get('db-1')).metadata;
    await podsOf().delete('db-1', { gracePeriodSeconds: 0 });
    await cluster.clock.advance('1h');
    expect((await podsOf().get('db-1')).metadata.uid).toBe(uid);
    await podsOf().patch('db-1', 'application/merge-patch+json', {
      metadata: { finalizers: null },
    });
    await settle();
    expect((await podsOf().get('db-1')).metadata.uid).not.toBe(uid);
  });

  test('creates failed pods again', async () => {
    await start();
    await create();
    const { uid } = (await podsOf().get('db-1')).metadata;
    await podsOf().patch(
      'db-1',
      'application/merge-patch+json',
      { status: { phase: 'Failed', reason: 'Evicted' } },
      { subresource: 'status' },
    );
    await settle();
    const pod = await podsOf().get('db-1');
    expect(pod.metadata.uid).not.toBe(uid);
    expect(pod.status.phase).toBe('Running');
  });

  test('sets the owners of claims by the retention policy', async () => {
    await start();
    await cluster.run((config) => new PvcProtectionController(config));
    const retention = (whenDeleted: string, whenScaled: string) => ({
      persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
    });
    await create({ ...volumes, replicas: 2, ...retention('Delete', 'Retain') });
    expect(await owners()).toEqual(['data-db-0: db', 'data-db-1: db']);
    await patch(retention('Retain', 'Retain'));
    expect(await owners()).toEqual(['data-db-0: ', 'data-db-1: ']);
    await patch({ ...retention('Delete', 'Delete'), replicas: 1 });
    expect(await owners()).toEqual(['data-db-0: db', 'data-db-1: db-1']);
    // The claim is being deleted, so a new pod with its name waits for a new claim.
    await patch({ replicas: 2 });
    expect(await running()).toEqual(['db-0 one']);
    await claims().delete('data-db-1');
    await settle();
    expect(await running()).toEqual(['db-0 one', 'db-1 one']);
    expect(await owners()).toEqual(['data-db-0: db', 'data-db-1: db']);
  });

  test('releases claims that another object controls, and leaves claims of a former set alone', async () => {
    await start();
    await create({
      ...volumes,
      replicas: 1,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
    });
    expect(await owners()).toEqual(['data-db-0: db']);
    const reference = { apiVersion: 'example.com/v1', kind: 'Backup', name: 'other', uid: 'u' };
    const [mine] = (await claims().get('data-db-0')).metadata.ownerReferences ?? [];
    const set = async (...ownerReferences: object[]) => {
      await claims().patch('data-db-0', 'application/merge-patch+json', {
        metadata: { ownerReferences },
      });
      await settle();
    };
    // A second owner that is no controller does no harm; a reference of the set that is no
    // controller becomes one.
    await set(reference, { ...mine, controller: false });
    const controllers = async () =>
      ((await claims().get('data-db-0')).metadata.ownerReferences ?? []).map(
        ({ name, controller }) => `${name} ${controller}`,
      );
    expect(await controllers()).toEqual(['other undefined', 'db true']);
    await set({ ...reference, controller: true }, { ...mine, controller: false });
    expect(await controllers()).toEqual(['other true']);
    const { items } = await cluster.client.resource(events).namespace('default').list();
    expect(
      items
        .filter(({ reason }) => reason === 'ConflictingController')
        .map(({ message }) => message),
    ).toEqual([
      'PersistentVolumeClaim data-db-0 has a conflicting OwnerReference that acts as a ' +
        'manging controller, the retention policy is ignored for this claim',
    ]);
    await set({ ...mine, uid: 'former' });
    expect(await controllers()).toEqual(['db true']);
    expect((await claims().get('data-db-0')).metadata.ownerReferences?.[0]?.uid).toBe('former');
  });

  test('adopts pods with its names and labels, and no others', async () => {
    const spec = { containers: [{ name: 'c', image: 'old' }] };
    for (const name of ['db-1', 'db-x'])
      await podsOf().create({ metadata: { name, labels: { app: 'db' } }, spec });
    await start();
    await create({ replicas: 2 });
    const ownerOf = async (name: string) =>
      (await podsOf().get(name)).metadata.ownerReferences?.[0]?.name;
    expect([await ownerOf('db-1'), await ownerOf('db-x')]).toEqual(['db', undefined]);
  });
});
