import { afterEach, beforeEach, expect, test } from 'vitest';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { nodes, persistentVolumeClaims, persistentVolumes } from '#api/groups/core/v1/index.ts';
import { csiNodes, storageClasses } from '#api/groups/storage/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { PersistentVolumeBinder } from '../../persistent-volume/index.ts';
import { newClaim } from '../../persistent-volume/testing/objects.ts';
import { eventsOf } from '../../testing/said.ts';
import { startTestCluster, type TestCluster } from '../../testing/test-cluster.ts';
import { CsiProvisioner } from '../csi-provisioner.ts';
import {
  CsiSnapshotter,
  snapshotDefinitions,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from './index.ts';
import { fakeDriver } from './testing/fake-driver.ts';

const DRIVER = 'd.example.com';
const KEY = 'topology.d.example.com/node';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  for (const definition of snapshotDefinitions)
    await cluster.client.resource(customResourceDefinitions).create(definition);
  await settle();
});
afterEach(() => cluster.stop());
const settle = () => cluster.clock.advance('10s');
const claims = () => cluster.client.resource(persistentVolumeClaims).namespace('default');
const snapshots = () => cluster.client.resource(volumeSnapshots).namespace('default');
const contents = () => cluster.client.resource(volumeSnapshotContents);

/** Starts the controllers with a bound claim `data`, and a class with the policy. */
async function start(deletionPolicy: 'Delete' | 'Retain' = 'Delete', nodeName?: string) {
  const driver = fakeDriver();
  const { client } = cluster;
  await client.resource(nodes).create({ metadata: { name: 'n', labels: { [KEY]: 'n' } } });
  await client.resource(csiNodes).create({
    metadata: { name: 'n' },
    spec: { drivers: [{ name: DRIVER, nodeID: 'n', topologyKeys: [KEY] }] },
  });
  await client.resource(storageClasses).create({ metadata: { name: 'fast' }, provisioner: DRIVER });
  await client.resource(volumeSnapshotClasses).create({
    metadata: {
      name: 'snap',
      annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true' },
    },
    driver: DRIVER,
    deletionPolicy,
    parameters: { speed: 'high', 'csi.storage.k8s.io/unknown': 'x' },
  });
  const settings = { driver: DRIVER, service: driver.service, client };
  await cluster.run((config) => new PersistentVolumeBinder(config));
  await cluster.run((config) => new CsiProvisioner({ ...config, ...settings }));
  const onNode = { ...settings, ...(nodeName !== undefined && { nodeName }) };
  await cluster.run((config) => new CsiSnapshotter({ ...config, ...onNode }));
  const { metadata } = await claims().create(newClaim('data', { storageClassName: 'fast' }));
  await settle();
  return { ...driver, handle: `handle-of-pvc-${metadata.uid}` };
}

const take = async (name = 'it') => {
  const { metadata } = await snapshots().create({
    metadata: { name },
    spec: { source: { persistentVolumeClaimName: 'data' } },
  });
  await settle();
  return `snapcontent-${metadata.uid}`;
};
const isGone = async (work: Promise<unknown>): Promise<boolean> => {
  try {
    await work;
    return false;
  } catch (error) {
    if (apierrors.isNotFound(error)) return true;
    throw error;
  }
};

test('a snapshot of a claim is taken, restored, and deleted with its content', async () => {
  const { calls, sources, handle } = await start();
  const content = await take();
  expect(calls).toEqual([`create of ${handle} {"speed":"high"}`]);
  expect((await contents().get(content)).spec).toMatchObject({
    driver: DRIVER,
    deletionPolicy: 'Delete',
    source: { volumeHandle: handle },
    volumeSnapshotClassName: 'snap',
    volumeSnapshotRef: { kind: 'VolumeSnapshot', name: 'it', namespace: 'default' },
  });
  // The snapshot had no class: it has the default one now.
  expect((await snapshots().get('it')).spec.volumeSnapshotClassName).toBe('snap');
  expect((await snapshots().get('it')).status).toEqual({
    boundVolumeSnapshotContentName: content,
    readyToUse: true,
    creationTime: '2027-01-15T08:00:00Z',
    restoreSize: '1Gi',
  });
  const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'it' };
  await claims().create(newClaim('copy', { storageClassName: 'fast', dataSource }));
  await settle();
  expect(sources).toEqual([{ snapshot: { snapshotId: 's1' } }]);
  expect((await claims().get('copy')).status.phase).toBe('Bound');
  await snapshots().delete('it');
  await settle();
  expect(calls.slice(1)).toEqual(['delete s1']);
  expect(await isGone(contents().get(content))).toBe(true);
  expect(await isGone(snapshots().get('it'))).toBe(true);
});

test('with the policy Retain the content stays, and can be bound again', async () => {
  const { calls } = await start('Retain');
  const content = await take();
  await snapshots().delete('it');
  await settle();
  expect(await isGone(snapshots().get('it'))).toBe(true);
  expect((await contents().get(content)).metadata.deletionTimestamp).toBeUndefined();
  await contents().create({
    metadata: { name: 'given' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Retain',
      source: { snapshotHandle: 's1' },
      volumeSnapshotRef: { name: 'again', namespace: 'default' },
    },
  });
  await snapshots().create({
    metadata: { name: 'again' },
    spec: { source: { volumeSnapshotContentName: 'given' } },
  });
  await settle();
  expect((await snapshots().get('again')).status).toMatchObject({
    boundVolumeSnapshotContentName: 'given',
    readyToUse: true,
  });
  expect(calls.filter((call) => call.startsWith('delete'))).toEqual([]);
});

test('a content that names a snapshot of a group leaves its deletion to the group', async () => {
  const { calls, taken } = await start('Delete', 'n');
  const creationTime = { seconds: 1_800_000_000, nanos: 0 };
  const snapshot = { snapshotId: 's9', sourceVolumeId: 'v', sizeBytes: 1, readyToUse: true };
  taken.set('s9', { ...snapshot, creationTime, groupSnapshotId: 'g1' });
  await contents().create({
    metadata: { name: 'given' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: { snapshotHandle: 's9' },
      volumeSnapshotRef: { name: 'it', namespace: 'default' },
    },
  });
  await settle();
  const { metadata, status } = await contents().get('given');
  expect(status).toMatchObject({ volumeGroupSnapshotHandle: 'g1' });
  // The node's driver may have nothing left of it when the content is deleted.
  expect(metadata.annotations).toEqual({ 'csi.coxswain.dev/node': 'n' });
  taken.delete('s9');
  await contents().delete('given');
  await settle();
  expect(await isGone(contents().get('given'))).toBe(true);
  expect(calls).toEqual([]);
});

test('failures are reported, and tried again; a smaller copy is refused', async () => {
  const { state } = await start();
  state.fault = new RpcError('RESOURCE_EXHAUSTED', 'no room');
  const content = await take();
  const { status } = await snapshots().get('it');
  expect(status?.readyToUse).toBe(false);
  expect(status?.error?.message).toMatch(/^Failed to create snapshot: .*no room$/);
  // A failure that lasts is written once.
  const { resourceVersion } = (await contents().get(content)).metadata;
  await cluster.clock.advance('1m');
  expect((await contents().get(content)).metadata.resourceVersion).toBe(resourceVersion);
  state.fault = undefined;
  await cluster.clock.advance('5m');
  expect((await snapshots().get('it')).status).toMatchObject({ readyToUse: true });
  expect((await contents().get(content)).status?.error).toBeUndefined();
  const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'it' };
  const resources = { requests: { storage: '1Mi' } };
  await claims().create(newClaim('small', { storageClassName: 'fast', dataSource, resources }));
  await settle();
  const messages = (await eventsOf(cluster.client)).map(({ message }) => message);
  expect(messages.join()).toContain(
    'requested volume size 1048576 is less than the size 1073741824 for the source snapshot it',
  );
  expect((await claims().get('small')).status.phase).toBe('Pending');
  state.fault = new RpcError('INTERNAL', 'broken');
  await snapshots().delete('it');
  await settle();
  // A snapshot that the driver has not deleted is not forgotten.
  expect((await snapshots().get('it')).metadata.deletionTimestamp).toBeDefined();
  state.fault = undefined;
  await cluster.clock.advance('5m');
  expect(await isGone(snapshots().get('it'))).toBe(true);
});

test('snapshots and contents of other drivers are left alone', async () => {
  const { calls } = await start();
  await contents().create({
    metadata: { name: 'other' },
    spec: {
      driver: 'other.example.com',
      deletionPolicy: 'Delete',
      source: { snapshotHandle: 'x' },
      volumeSnapshotRef: { name: 'other', namespace: 'default' },
    },
  });
  await cluster.client.resource(persistentVolumes).create({
    metadata: { name: 'foreign' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { namespace: 'default', name: 'foreign' },
      csi: { driver: 'other.example.com', volumeHandle: 'h' },
    },
  });
  await claims().create(newClaim('foreign', { storageClassName: '', volumeName: 'foreign' }));
  await snapshots().create({
    metadata: { name: 'other' },
    spec: { source: { volumeSnapshotContentName: 'other' } },
  });
  await snapshots().create({
    metadata: { name: 'foreign' },
    spec: { source: { persistentVolumeClaimName: 'foreign' } },
  });
  await settle();
  expect(calls).toEqual([]);
  for (const name of ['other', 'foreign']) {
    const { metadata, status } = await snapshots().get(name);
    expect([metadata.finalizers, status]).toEqual([undefined, undefined]);
  }
});
