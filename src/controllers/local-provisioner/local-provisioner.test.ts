import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  nodes,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { clusterRoles } from '#api/groups/rbac/v1/index.ts';
import { storageClasses } from '#api/groups/storage/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { PersistentVolumeBinder } from '../persistent-volume/index.ts';
import { newClaim } from '../persistent-volume/testing/objects.ts';
import { disturb } from '../testing/robustness.ts';
import { eventsOf } from '../testing/said.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { PvcProtectionController, PvProtectionController } from '../volume-protection/index.ts';
import { LocalProvisioner } from './index.ts';

const MERGE = 'application/merge-patch+json';
const SELECTED = { metadata: { annotations: { 'volume.kubernetes.io/selected-node': 'n' } } };

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

async function start(): Promise<void> {
  await cluster.run((config) => new LocalProvisioner(config));
  await cluster.run((config) => new PersistentVolumeBinder(config));
  await cluster.run((config) => new PvProtectionController(config));
  await cluster.run((config) => new PvcProtectionController(config));
  await settle();
}
const volumes = () => cluster.client.resource(persistentVolumes);
const claims = () => cluster.client.resource(persistentVolumeClaims).namespace('default');
const classes = () => cluster.client.resource(storageClasses);
const settle = () => cluster.clock.advance('1s');
const addNode = (annotations?: Record<string, string>) =>
  cluster.client.resource(nodes).create({
    metadata: {
      name: 'n',
      labels: { 'kubernetes.io/hostname': 'n.local' },
      ...(annotations && { annotations }),
    },
  });
const pretending = { 'coxswain.dev/local-volumes': '' };
const said = async () =>
  (await eventsOf(cluster.client)).map(
    ({ reason, message, source }) => `${source?.component} ${reason}: ${message}`,
  );
const ours = async () => (await said()).filter((each) => each.startsWith('coxswain.dev/local '));
const only = async () => (await volumes().list()).items[0];
async function claimed(claim: New<PersistentVolumeClaim> = newClaim('c')): Promise<void> {
  await claims().create(claim);
  await settle();
  await claims().patch('c', MERGE, SELECTED);
  await settle();
}

describe('the default class', () => {
  test('exists from the start, for directories of nodes', async () => {
    await start();
    expect(await classes().get('standard')).toMatchObject({
      metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'coxswain.dev/local',
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    });
  });

  test('is created when the controller gets its role, whose lack is no warning', async () => {
    const roles = cluster.client.resource(clusterRoles);
    const role = await roles.get('system:controller:local-provisioner');
    await roles.update({ ...role, rules: [] });
    await cluster.run((config) => new LocalProvisioner(config));
    await cluster.clock.advance('1m');
    expect((await classes().list()).items).toEqual([]);
    const records = cluster.logger.records.filter(({ message }) => message.includes('provisioner'));
    expect(records.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'local provisioner: off, since the API server has no role for it'],
    ]);
    const { metadata } = await roles.get(role.metadata.name);
    await roles.update({ ...role, metadata });
    await cluster.clock.advance('10s');
    expect((await classes().list()).items.map(({ metadata: { name } }) => name)).toEqual([
      'standard',
    ]);
  });

  test('is created although the question for rights fails at first', async () => {
    const path = /selfsubjectaccessreviews/;
    cluster.faults.fail('POST', path, () => apierrors.internalError('not yet'), { times: 2 });
    await cluster.run((config) => new LocalProvisioner(config));
    await cluster.clock.advance('3s');
    expect((await classes().list()).items).toHaveLength(1);
    const records = cluster.logger.records.filter(({ message }) => message.includes('provisioner'));
    expect(records.map(({ level, message }) => [level, message])).toEqual([
      ['info', expect.stringContaining('its rights are unknown, retrying: ')],
    ]);
  });

  test('is another class if one exists', async () => {
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    await classes().create({ metadata: { name: 'mine', annotations }, provisioner: 'p' });
    await start();
    expect((await classes().get('standard')).metadata.annotations).toBeUndefined();
  });

  test('keeps changes by users', async () => {
    await classes().create({ metadata: { name: 'standard' }, provisioner: 'p' });
    await start();
    expect(await classes().get('standard')).toMatchObject({ provisioner: 'p' });
    await classes().delete('standard');
    await settle();
    expect((await classes().list()).items).toEqual([]);
  });
});

describe('a claim', () => {
  test('gets a directory on its selected node', async () => {
    await addNode({ 'coxswain.dev/local-volumes': '/srv/volumes' });
    await start();
    await claimed();
    const { metadata, spec } = await claims().get('c');
    const name = `pvc-${metadata.uid}`;
    expect(spec.volumeName).toBe(name);
    const volume = await volumes().get(name);
    expect(volume.metadata).toMatchObject({
      annotations: {
        'pv.kubernetes.io/provisioned-by': 'coxswain.dev/local',
        'coxswain.dev/local-volume-node': 'n',
      },
      finalizers: [
        'external-provisioner.volume.kubernetes.io/finalizer',
        'kubernetes.io/pv-protection',
      ],
    });
    const match = { key: 'kubernetes.io/hostname', operator: 'In', values: ['n.local'] };
    expect(volume.spec).toMatchObject({
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      local: { path: `/srv/volumes/${name}` },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [match] }] } },
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'standard',
      claimRef: { namespace: 'default', name: 'c', uid: metadata.uid },
    });
    expect(volume.status.phase).toBe('Bound');
    expect(await ours()).toEqual([
      'coxswain.dev/local Provisioning: External provisioner is provisioning volume for claim "default/c"',
      `coxswain.dev/local ProvisioningSucceeded: Successfully provisioned volume ${name}`,
    ]);
  });

  test.each<[what: string, claim: New<PersistentVolumeClaim>, why: string]>([
    [
      'many nodes',
      newClaim('c', { accessModes: ['ReadWriteMany'] }),
      'access mode ReadWriteMany is not supported: a directory of a node can be ReadWriteOnce or ReadWriteOncePod',
    ],
    [
      'attributes',
      newClaim('c', { volumeAttributesClassName: 'fast' }),
      'volume attributes classes are not supported',
    ],
    ['blocks', newClaim('c', { volumeMode: 'Block' }), 'block volumes are not supported'],
    [
      'labels',
      newClaim('c', { selector: { matchLabels: { a: 'b' } } }),
      'claim Selector is not supported',
    ],
  ])('for %s gets none', async (_, claim, why) => {
    await addNode(pretending);
    await start();
    await claimed(claim);
    expect(await only()).toBeUndefined();
    expect(await ours()).toEqual([
      `coxswain.dev/local ProvisioningFailed: failed to provision volume with StorageClass "standard": ${why}`,
    ]);
  });

  test('of a node that provides no directories waits', async () => {
    await addNode();
    await start();
    await claimed();
    expect(await ours()).toEqual([
      'coxswain.dev/local ProvisioningFailed: failed to provision volume with StorageClass ' +
        '"standard": node "n" makes no directories for volumes',
    ]);
  });

  test('is returned to the scheduler when its node is gone', async () => {
    await start();
    await claimed();
    expect((await claims().get('c')).metadata.annotations).not.toHaveProperty([
      'volume.kubernetes.io/selected-node',
    ]);
    expect(await ours()).toEqual([
      'coxswain.dev/local ProvisioningFailed: failed to provision volume with StorageClass ' +
        '"standard": failed to get target node: nodes "n" not found',
    ]);
  });

  test('is expanded', async () => {
    await addNode(pretending);
    await start();
    await claimed();
    await claims().patch('c', MERGE, { spec: { resources: { requests: { storage: '3Gi' } } } });
    await settle();
    expect((await only())?.spec.capacity).toEqual({ storage: '3Gi' });
    expect((await claims().get('c')).status).toEqual({
      phase: 'Bound',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '3Gi' },
      allocatedResources: { storage: '3Gi' },
    });
    expect((await ours()).map((each) => each.split(' ')[1])).toEqual([
      'Provisioning:',
      'ProvisioningSucceeded:',
      'Resizing:',
      'VolumeResizeSuccessful:',
    ]);
  });
});

describe('a volume', () => {
  test('is deleted with its claim', async () => {
    await addNode(pretending);
    await start();
    await claimed();
    await claims().delete('c');
    await settle();
    expect(await only()).toBeUndefined();
  });

  test('is deleted when requested, but not before its claim', async () => {
    await addNode(pretending);
    await start();
    await claimed();
    const { name } = (await only())?.metadata ?? { name: '' };
    await volumes().delete(name);
    await settle();
    expect((await only())?.status.phase).toBe('Bound');
    await claims().delete('c');
    await settle();
    expect(await only()).toBeUndefined();
  });

  test('with the policy Retain stays, and its directory is not removed when it is deleted', async () => {
    await addNode({ 'coxswain.dev/local-volumes': '/srv/volumes' });
    await start();
    await claimed();
    const { name } = (await only())?.metadata ?? { name: '' };
    await volumes().patch(name, MERGE, { spec: { persistentVolumeReclaimPolicy: 'Retain' } });
    await claims().delete('c');
    await settle();
    const kept = await only();
    expect([kept?.status.phase, kept?.metadata.finalizers]).toEqual([
      'Released',
      ['kubernetes.io/pv-protection'],
    ]);
    await volumes().delete(name);
    await settle();
    expect(await only()).toBeUndefined();
    expect(cluster.faults.requests.filter((each) => each.includes('localVolumes'))).toEqual([]);
  });

  test('waits until its node has removed the directory, or is gone', async () => {
    await addNode({ 'coxswain.dev/local-volumes': '/srv/volumes' });
    await start();
    await claimed();
    await claims().delete('c');
    await settle();
    expect((await only())?.status.phase).toBe('Released');
    expect((await ours()).at(-1)).toContain('VolumeFailedDelete');
    await cluster.client.resource(nodes).delete('n');
    await settle();
    expect(await only()).toBeUndefined();
  });
});

test('reach the same outcome after every fault', async () => {
  const inDefault = (name: string) => (each: TestCluster) =>
    each.client.resource(persistentVolumeClaims).namespace('default').patch(name, MERGE, SELECTED);
  const { outcome, disturbed, writes } = await disturb({
    subject: (config) => new LocalProvisioner(config),
    others: [
      (config) => new PersistentVolumeBinder(config),
      (config) => new PvProtectionController(config),
      (config) => new PvcProtectionController(config),
    ],
    steps: [
      async ({ client }) => {
        await client.resource(nodes).create({ metadata: { name: 'n', annotations: pretending } });
        for (const name of ['c', 'd']) {
          await client
            .resource(persistentVolumeClaims)
            .create(newClaim(name, { storageClassName: 'standard' }));
        }
      },
      async (each) => void (await Promise.all([inDefault('c')(each), inDefault('d')(each)])),
      async ({ client }) => {
        const inNamespace = client.resource(persistentVolumeClaims).namespace('default');
        await inNamespace.patch('c', MERGE, {
          spec: { resources: { requests: { storage: '2Gi' } } },
        });
        await inNamespace.delete('d').catch((error: unknown) => {
          if (!apierrors.isNotFound(error)) throw error;
        });
      },
    ],
    outcome: [persistentVolumes, persistentVolumeClaims, storageClasses],
    rest: '1m',
  });
  expect(writes).toBeGreaterThan(6);
  expect(outcome).toHaveLength(3);
  // Names of volumes contain UIDs.
  const named = (objects: readonly unknown[]) =>
    JSON.stringify(objects).replaceAll(/pvc-[0-9a-f-]{36}/g, 'pvc-UID');
  for (const [what, end] of disturbed) expect(named(end), what).toEqual(named(outcome));
});
