// Groups of snapshots: of a driver in memory, with the controllers of volumes and snapshots.

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
  groupSnapshotDefinitions,
  GroupSnapshotter,
  snapshotDefinitions,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from './index.ts';
import { fakeDriver } from './testing/fake-driver.ts';

const DRIVER = 'd.example.com';
const KEY = 'topology.d.example.com/node';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  for (const definition of [...snapshotDefinitions, ...groupSnapshotDefinitions])
    await cluster.client.resource(customResourceDefinitions).create(definition);
  await settle();
});
afterEach(() => cluster.stop());

const settle = () => cluster.clock.advance('10s');
const claims = () => cluster.client.resource(persistentVolumeClaims).namespace('default');
const snapshots = () => cluster.client.resource(volumeSnapshots).namespace('default');
const groups = () => cluster.client.resource(volumeGroupSnapshots).namespace('default');
const contents = () => cluster.client.resource(volumeGroupSnapshotContents);

async function labeledClaim(name: string, group = 'one'): Promise<string> {
  const claim = newClaim(name, { storageClassName: 'fast' });
  const { metadata } = await claims().create({
    ...claim,
    metadata: { ...claim.metadata, labels: { group } },
  });
  await settle();
  return `handle-of-pvc-${metadata.uid}`;
}

/** Starts the controllers with two bound claims, and a class with the policy. */
async function start(deletionPolicy: 'Delete' | 'Retain' = 'Delete') {
  const driver = fakeDriver();
  const { client } = cluster;
  await client.resource(nodes).create({ metadata: { name: 'n', labels: { [KEY]: 'n' } } });
  await client.resource(csiNodes).create({
    metadata: { name: 'n' },
    spec: { drivers: [{ name: DRIVER, nodeID: 'n', topologyKeys: [KEY] }] },
  });
  await client.resource(storageClasses).create({ metadata: { name: 'fast' }, provisioner: DRIVER });
  await client.resource(volumeGroupSnapshotClasses).create({
    metadata: {
      name: 'together',
      annotations: { 'groupsnapshot.storage.kubernetes.io/is-default-class': 'true' },
    },
    driver: DRIVER,
    deletionPolicy,
    parameters: { speed: 'high', 'csi.storage.k8s.io/unknown': 'x' },
  });
  const settings = { driver: DRIVER, service: driver.service, client };
  await cluster.run((config) => new PersistentVolumeBinder(config));
  await cluster.run((config) => new CsiProvisioner({ ...config, ...settings }));
  await cluster.run((config) => new CsiSnapshotter({ ...config, ...settings }));
  await cluster.run((config) => new GroupSnapshotter({ ...config, ...settings }));
  const handles = [await labeledClaim('a'), await labeledClaim('b')];
  await labeledClaim('c', 'other');
  return { ...driver, handles };
}

/** Creates a group of the claims with the label, and returns the name of its content. */
async function take(name = 'it', group = 'one'): Promise<string> {
  const { metadata } = await groups().create({
    metadata: { name },
    spec: { source: { selector: { matchLabels: { group } } } },
  });
  await settle();
  return `groupsnapcontent-${metadata.uid}`;
}
const errorOf = async (name = 'it') => (await groups().get(name)).status?.error?.message;
const isGone = async (work: Promise<unknown>): Promise<boolean> => {
  try {
    await work;
    return false;
  } catch (error) {
    if (apierrors.isNotFound(error)) return true;
    throw error;
  }
};

test('a group is taken in one call, with a snapshot of each claim, and deleted as a whole', async () => {
  const { calls, handles } = await start();
  const name = await take();
  const creations = calls.filter((call) => call.startsWith('create'));
  expect(creations).toHaveLength(1);
  expect(creations[0]).toContain('{"speed":"high"}');
  const content = await contents().get(name);
  expect(content.spec).toMatchObject({
    driver: DRIVER,
    deletionPolicy: 'Delete',
    volumeGroupSnapshotClassName: 'together',
    volumeGroupSnapshotRef: { kind: 'VolumeGroupSnapshot', name: 'it', namespace: 'default' },
  });
  expect(content.spec.source.volumeHandles?.toSorted()).toEqual(handles.toSorted());
  // The group had no class: it has the default one now.
  expect((await groups().get('it')).spec.volumeGroupSnapshotClassName).toBe('together');
  expect(content.status?.volumeSnapshotInfoList).toHaveLength(2);
  expect((await groups().get('it')).status).toEqual({
    boundVolumeGroupSnapshotContentName: name,
    creationTime: '2027-01-15T08:00:00Z',
    readyToUse: true,
  });
  const members = (await snapshots().list()).items;
  expect(members.map(({ spec }) => spec.source.persistentVolumeClaimName).toSorted()).toEqual([
    'a',
    'b',
  ]);
  for (const { metadata, status } of members) {
    expect(metadata.name).toMatch(/^snapshot-[0-9a-f]{64}$/);
    expect(status).toMatchObject({
      boundVolumeSnapshotContentName: metadata.name.replace('snapshot', 'snapcontent'),
      readyToUse: true,
      restoreSize: '1Gi',
      volumeGroupSnapshotName: 'it',
    });
  }
  const messages = (await eventsOf(cluster.client)).map(({ reason, message }) => [reason, message]);
  expect(messages).toContainEqual([
    'GroupSnapshotReady',
    'GroupSnapshot default/it is ready to use.',
  ]);
  await groups().delete('it');
  await settle();
  expect(calls.filter((call) => call.startsWith('delete'))).toEqual([
    `delete ${content.status?.volumeGroupSnapshotHandle} of 2`,
  ]);
  expect(await isGone(groups().get('it'))).toBe(true);
  expect(await isGone(contents().get(name))).toBe(true);
  expect((await snapshots().list()).items).toEqual([]);
  expect((await cluster.client.resource(volumeSnapshotContents).list()).items).toEqual([]);
});

test('a claim begins as a copy of a member', async () => {
  const { sources } = await start();
  await take();
  const [member] = (await snapshots().list()).items;
  const dataSource = {
    apiGroup: 'snapshot.storage.k8s.io',
    kind: 'VolumeSnapshot',
    name: member?.metadata.name ?? '',
  };
  await claims().create(newClaim('copy', { storageClassName: 'fast', dataSource }));
  await settle();
  expect(sources[0]?.snapshot?.snapshotId).toMatch(/^of-handle-of-pvc-/);
  expect((await claims().get('copy')).status.phase).toBe('Bound');
});

test('a member cannot be deleted before its group', async () => {
  const { calls } = await start();
  await take();
  const [member] = (await snapshots().list()).items;
  await snapshots().delete(member?.metadata.name ?? '');
  await settle();
  expect((await snapshots().list()).items).toHaveLength(2);
  const messages = (await eventsOf(cluster.client)).map(({ message }) => message);
  expect(messages.join()).toContain('is not allowed as it belongs to group snapshot default/it.');
  expect(calls.filter((call) => call.startsWith('delete'))).toEqual([]);
  await groups().delete('it');
  await settle();
  expect((await snapshots().list()).items).toEqual([]);
});

test('with the policy Retain the contents stay, and can be bound again', async () => {
  const { calls } = await start('Retain');
  const name = await take();
  const { status } = await contents().get(name);
  const groupHandle = status?.volumeGroupSnapshotHandle ?? '';
  const handles = (status?.volumeSnapshotInfoList ?? []).map(
    ({ snapshotHandle }) => snapshotHandle ?? '',
  );
  await groups().delete('it');
  await settle();
  expect(await isGone(groups().get('it'))).toBe(true);
  expect((await snapshots().list()).items).toEqual([]);
  expect((await contents().get(name)).metadata.deletionTimestamp).toBeUndefined();
  await contents().delete(name);
  await settle();
  expect(await isGone(contents().get(name))).toBe(true);
  expect(calls.filter((call) => call.startsWith('delete'))).toEqual([]);
  await contents().create({
    metadata: { name: 'given' },
    spec: {
      driver: DRIVER,
      deletionPolicy: 'Delete',
      source: {
        groupSnapshotHandles: {
          volumeGroupSnapshotHandle: groupHandle,
          volumeSnapshotHandles: handles,
        },
      },
      volumeGroupSnapshotRef: { name: 'again', namespace: 'default' },
    },
  });
  await groups().create({
    metadata: { name: 'again' },
    spec: { source: { volumeGroupSnapshotContentName: 'given' } },
  });
  await settle();
  expect((await groups().get('again')).status).toMatchObject({
    boundVolumeGroupSnapshotContentName: 'given',
    readyToUse: true,
  });
  await groups().delete('again');
  await settle();
  expect(calls.filter((call) => call.startsWith('delete'))).toEqual([`delete ${groupHandle} of 2`]);
});

test('failures are reported in both objects, and tried again', async () => {
  const { state, calls } = await start();
  state.fault = new RpcError('FAILED_PRECONDITION', 'volume x is a directory');
  const name = await take();
  const message = /^Failed to create group snapshot: .*volume x is a directory$/;
  expect((await contents().get(name)).status?.error?.message).toMatch(message);
  expect((await groups().get('it')).status).toMatchObject({ readyToUse: false });
  expect(await errorOf()).toMatch(message);
  // The state of a failure that lasts is written once.
  const before = (await contents().get(name)).metadata.resourceVersion;
  await cluster.clock.advance('1m');
  expect((await contents().get(name)).metadata.resourceVersion).toBe(before);
  state.fault = undefined;
  await cluster.clock.advance('5m');
  expect((await groups().get('it')).status).toMatchObject({ readyToUse: true });
  expect(await errorOf()).toBeUndefined();
  state.fault = new RpcError('INTERNAL', 'broken');
  await groups().delete('it');
  await settle();
  // A group that the driver has not deleted is not forgotten.
  expect((await groups().get('it')).metadata.deletionTimestamp).toBeDefined();
  state.fault = undefined;
  await cluster.clock.advance('5m');
  expect(await isGone(groups().get('it'))).toBe(true);
  expect(calls.some((call) => call.startsWith('delete'))).toBe(true);
});

test('a group without a usable class or volume says so', async () => {
  await start();
  await groups().create({
    metadata: { name: 'classless' },
    spec: {
      source: { selector: { matchLabels: { group: 'one' } } },
      volumeGroupSnapshotClassName: 'none',
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
  const claim = newClaim('foreign', { storageClassName: '', volumeName: 'foreign' });
  await claims().create({ ...claim, metadata: { ...claim.metadata, labels: { group: 'one' } } });
  await settle();
  await take();
  await cluster.clock.advance('1m');
  expect(await errorOf('classless')).toContain('\\"none\\" not found');
  expect(await errorOf()).toContain(
    'Volume CSI driver (other.example.com) mismatch with VolumeGroupSnapshotClass (together)',
  );
  expect((await snapshots().list()).items).toEqual([]);
});

test('groups and contents of other drivers are left alone', async () => {
  const { calls } = await start();
  await contents().create({
    metadata: { name: 'other' },
    spec: {
      driver: 'other.example.com',
      deletionPolicy: 'Delete',
      source: { volumeHandles: ['x'] },
      volumeGroupSnapshotRef: { name: 'other', namespace: 'default', uid: 'u' },
    },
  });
  await groups().create({
    metadata: { name: 'other' },
    spec: { source: { volumeGroupSnapshotContentName: 'other' } },
  });
  await settle();
  expect(calls).toEqual([]);
  const { metadata, status } = await groups().get('other');
  expect([metadata.finalizers, status]).toEqual([undefined, undefined]);
});

test('the source of a group is checked, and does not change', async () => {
  await start();
  const source = { selector: { matchLabels: { group: 'one' } } };
  await expect(
    groups().create({
      metadata: { name: 'both' },
      spec: { source: { ...source, volumeGroupSnapshotContentName: 'x' } },
    }),
  ).rejects.toThrow('exactly one of selector and volumeGroupSnapshotContentName must be set');
  await take();
  await expect(
    groups().patch('it', 'application/merge-patch+json', {
      spec: { source: { selector: { matchLabels: { group: 'two' } } } },
    }),
  ).rejects.toThrow('selector is immutable');
});
