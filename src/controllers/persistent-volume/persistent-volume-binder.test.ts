import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { type StorageClass, storageClasses } from '#api/groups/storage/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { eventsOf } from '../testing/said.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { PersistentVolumeBinder } from './index.ts';
import { newClaim, newVolume } from './testing/objects.ts';

const MERGE = 'application/merge-patch+json';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.run((config) => new PersistentVolumeBinder(config));
});
afterEach(async () => {
  expect(cluster.logger.records.filter(({ level }) => level === 'error')).toEqual([]);
  await cluster.stop();
});

const volumes = () => cluster.client.resource(persistentVolumes);
const claims = () => cluster.client.resource(persistentVolumeClaims).namespace('default');
const classes = () => cluster.client.resource(storageClasses);
const settle = () => cluster.clock.advance('1s');
async function create(
  ...objects: readonly (New<PersistentVolume> | New<PersistentVolumeClaim>)[]
): Promise<void> {
  for (const each of objects) {
    if (each.metadata?.namespace === undefined)
      await volumes().create(each as New<PersistentVolume>);
    else await claims().create(each as New<PersistentVolumeClaim>);
  }
  await settle();
}
const storageClass = (more: New<StorageClass> = {}): New<StorageClass> => ({
  metadata: { name: 'x' },
  provisioner: 'example.com/disk',
  ...more,
});
const said = async () =>
  (await eventsOf(cluster.client)).map(
    ({ type, reason, message }) => `${type} ${reason}: ${message}`,
  );
/** Returns the references and phases of volumes and claims. */
const state = async () => [
  ...(await volumes().list()).items.map(
    ({ metadata, spec, status }) =>
      `${metadata.name} ${status.phase} ${spec.claimRef?.name ?? '-'}`,
  ),
  ...(await claims().list()).items.map(
    ({ metadata, spec, status }) => `${metadata.name} ${status.phase} ${spec.volumeName ?? '-'}`,
  ),
];

describe('a claim', () => {
  test('is bound to the smallest volume that fits, and both refer to each other', async () => {
    await create(newVolume('large', {}, {}, '5Gi'), newVolume('small'), newClaim('c'));
    const [volume, claim] = [await volumes().get('small'), await claims().get('c')];
    expect(volume.metadata.annotations).toEqual({ 'pv.kubernetes.io/bound-by-controller': 'yes' });
    expect(volume.spec.claimRef).toMatchObject({
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
      namespace: 'default',
      name: 'c',
      uid: claim.metadata.uid,
    });
    expect(claim.metadata.annotations).toEqual({
      'pv.kubernetes.io/bind-completed': 'yes',
      'pv.kubernetes.io/bound-by-controller': 'yes',
    });
    expect(claim.status).toEqual({
      phase: 'Bound',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
    });
    expect(await state()).toEqual(['large Available -', 'small Bound c', 'c Bound small']);
  });

  test('waits for a volume, and records this once', async () => {
    await create(newClaim('c'));
    expect(await said()).toEqual([
      'Normal FailedBinding: no persistent volumes available for this claim and no storage class is set',
    ]);
    await create(newVolume('v'));
    expect(await state()).toEqual(['v Bound c', 'c Bound v']);
    expect(await said()).toHaveLength(1);
  });

  test('that has waited longest gets the volume, and the next claim the next volume', async () => {
    await create(newClaim('large', {}, '5Gi'), newClaim('first'), newClaim('second'));
    await create(newVolume('v'));
    expect(await state()).toEqual([
      'v Bound first',
      'first Bound v',
      'large Pending -',
      'second Pending -',
    ]);
    await create(newVolume('w'));
    expect(await state()).toEqual([
      'v Bound first',
      'w Bound second',
      'first Bound v',
      'large Pending -',
      'second Bound w',
    ]);
  });

  test('gets the volume that it names, once the volume exists', async () => {
    await create(newClaim('c', { volumeName: 'v' }));
    expect(await state()).toEqual(['c Pending v']);
    await create(newVolume('v'));
    expect(await state()).toEqual(['v Bound c', 'c Bound v']);
    const { metadata } = await claims().get('c');
    expect(metadata.annotations).toEqual({ 'pv.kubernetes.io/bind-completed': 'yes' });
  });

  test.each([
    [{ storageClassName: 'x' }, '1Gi', 'storageClassName does not match'],
    [{}, '2Gi', 'requested PV is too small'],
    [{ volumeMode: 'Block' as const }, '1Gi', 'incompatible volumeMode'],
    [{ accessModes: ['ReadWriteMany' as const] }, '1Gi', 'incompatible accessMode'],
    [{ volumeAttributesClassName: 'fast' }, '1Gi', 'volumeAttributesClassName does not match'],
  ])('with %j and %s does not get the volume that it names', async (spec, size, why) => {
    await create(newVolume('v'), newClaim('c', { volumeName: 'v', ...spec }, size));
    expect(await state()).toEqual(['v Available -', 'c Pending v']);
    expect(await said()).toEqual([
      `Warning VolumeMismatch: Cannot bind to requested volume "v": ${why}`,
    ]);
  });

  test('does not get the volume of another claim until that is released', async () => {
    await create(
      newVolume('v'),
      newClaim('a', { volumeName: 'v' }),
      newClaim('b', { volumeName: 'v' }),
    );
    expect(await state()).toEqual(['v Bound a', 'a Bound v', 'b Pending v']);
    expect(await said()).toEqual([
      'Warning FailedBinding: volume "v" already bound to a different claim.',
    ]);
    await claims().patch('a', MERGE, { metadata: { finalizers: null } });
    await claims().delete('a');
    await settle();
    expect(await state()).toEqual(['v Released a', 'b Pending v']);
    await volumes().patch('v', MERGE, { spec: { claimRef: null } });
    await settle();
    expect(await state()).toEqual(['v Bound b', 'b Bound v']);
  });

  test('is Lost without its volume, and Bound again with it', async () => {
    await create(newVolume('v'), newClaim('c'));
    await volumes().patch('v', MERGE, { metadata: { finalizers: null } });
    await volumes().delete('v');
    await settle();
    expect(await state()).toEqual(['c Lost v']);
    expect((await claims().get('c')).status).toEqual({ phase: 'Lost' });
    expect(await said()).toEqual([
      'Warning ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!',
    ]);
    await create(newVolume('v'));
    expect(await state()).toEqual(['v Bound c', 'c Bound v']);
  });

  test('that shares a volume with another claim by mistake is Lost', async () => {
    await create(newVolume('v'), newClaim('a'));
    const annotations = { 'pv.kubernetes.io/bind-completed': 'yes' };
    await create(newClaim('b', { volumeName: 'v' }, '1Gi', { annotations }));
    expect(await state()).toEqual(['v Bound a', 'a Bound v', 'b Lost v']);
    expect(await said()).toEqual([
      'Warning ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly',
    ]);
  });

  test('is bound once, to one of several matching volumes', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `n${i}`);
    await Promise.all(names.map((name) => volumes().create(newVolume(name))));
    await Promise.all(names.map((name) => claims().create(newClaim(name))));
    await cluster.clock.advance('10s');
    const bound = (await claims().list()).items.map(({ spec }) => spec.volumeName);
    expect(new Set(bound).size).toBe(12);
    expect((await state()).every((each) => each.includes(' Bound '))).toBe(true);
  });
});

describe('a claim of a class', () => {
  test('is provisioned by the provisioner of its class', async () => {
    await classes().create(storageClass());
    await create(newClaim('c', { storageClassName: 'x' }));
    expect((await claims().get('c')).metadata.annotations).toEqual({
      'volume.beta.kubernetes.io/storage-provisioner': 'example.com/disk',
      'volume.kubernetes.io/storage-provisioner': 'example.com/disk',
    });
    expect(await said()).toEqual([
      'Normal ExternalProvisioning: Waiting for a volume to be created either by the ' +
        "external provisioner 'example.com/disk' or manually by the system administrator. If " +
        'volume creation is delayed, please verify that the provisioner is running and ' +
        'correctly registered.',
    ]);
    // Acts as the external provisioner.
    const { uid } = (await claims().get('c')).metadata;
    const claimRef = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      namespace: 'default',
      name: 'c',
      uid,
    };
    const annotations = { 'pv.kubernetes.io/provisioned-by': 'example.com/disk' };
    const spec = {
      storageClassName: 'x',
      claimRef,
      persistentVolumeReclaimPolicy: 'Delete' as const,
    };
    await create(newVolume('pvc-1', spec, { annotations }));
    expect(await state()).toEqual(['pvc-1 Bound c', 'c Bound pvc-1']);
    expect((await volumes().get('pvc-1')).metadata.annotations).toEqual(annotations);
    // The external provisioner deletes the volume, not the binder.
    await claims().patch('c', MERGE, { metadata: { finalizers: null } });
    await claims().delete('c');
    await settle();
    expect(await state()).toEqual(['pvc-1 Released c']);
    expect(await said()).toHaveLength(1);
  });

  test('with a removed in-tree plugin is provisioned by the CSI driver that replaces it', async () => {
    await classes().create(storageClass({ provisioner: 'kubernetes.io/aws-ebs' }));
    await create(newClaim('c', { storageClassName: 'x' }));
    expect((await claims().get('c')).metadata.annotations).toHaveProperty(
      ['volume.kubernetes.io/storage-provisioner'],
      'ebs.csi.aws.com',
    );
    expect((await said()).at(-1)).toContain("external provisioner 'ebs.csi.aws.com'");
    const { uid } = (await claims().get('c')).metadata;
    const claimRef = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      namespace: 'default',
      name: 'c',
      uid,
    };
    const annotations = { 'pv.kubernetes.io/provisioned-by': 'kubernetes.io/aws-ebs' };
    const finalizers = ['kubernetes.io/pv-controller', 'example.com/keep'];
    const spec = {
      claimRef,
      storageClassName: 'x',
      persistentVolumeReclaimPolicy: 'Delete' as const,
    };
    await create(newVolume('v', spec, { annotations, finalizers }));
    const { metadata } = await volumes().get('v');
    expect(metadata.annotations).toEqual({
      ...annotations,
      'pv.kubernetes.io/migrated-to': 'ebs.csi.aws.com',
    });
    // The driver uses a finalizer of its own.
    expect(metadata.finalizers).not.toContain('kubernetes.io/pv-controller');
    expect(metadata.finalizers).toContain('example.com/keep');
    await claims().patch('c', MERGE, { metadata: { finalizers: null } });
    await claims().delete('c');
    await settle();
    expect(await state()).toEqual(['v Released c']);
  });

  test('waiting for a removed in-tree plugin gets the annotation of its CSI driver', async () => {
    for (const key of [
      'volume.kubernetes.io/storage-provisioner',
      'volume.beta.kubernetes.io/storage-provisioner',
    ]) {
      await claims().create(
        newClaim('c', {}, '1Gi', { annotations: { [key]: 'kubernetes.io/gce-pd' } }),
      );
      await settle();
      expect((await claims().get('c')).metadata.annotations).toMatchObject({
        'pv.kubernetes.io/migrated-to': 'pd.csi.storage.gke.io',
      });
      await claims().patch('c', MERGE, {
        metadata: { annotations: { [key]: 'example.com/disk' } },
      });
      await settle();
      expect((await claims().get('c')).metadata.annotations).toEqual({ [key]: 'example.com/disk' });
      await claims().patch('c', MERGE, { metadata: { finalizers: null } });
      await claims().delete('c');
      await settle();
    }
  });

  test('waits for its first consumer, then for the pod, then for the node', async () => {
    await classes().create(storageClass({ volumeBindingMode: 'WaitForFirstConsumer' }));
    await create(
      newVolume('v', { storageClassName: 'x' }),
      newClaim('c', { storageClassName: 'x' }),
    );
    expect(await state()).toEqual(['v Available -', 'c Pending -']);
    await cluster.client.resource(pods).create({
      metadata: { name: 'p', namespace: 'default' },
      spec: {
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
      },
    });
    await settle();
    expect(await said()).toEqual([
      'Normal WaitForFirstConsumer: waiting for first consumer to be created before binding',
      'Normal WaitForPodScheduled: waiting for pod p to be scheduled',
    ]);
    await claims().patch('c', MERGE, {
      metadata: { annotations: { 'volume.kubernetes.io/selected-node': 'n' } },
    });
    await settle();
    expect((await said()).at(-1)).toContain('ExternalProvisioning');
    // The scheduler may also choose an existing volume.
    const { uid } = (await claims().get('c')).metadata;
    await volumes().patch('v', MERGE, {
      metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
      spec: {
        claimRef: {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          namespace: 'default',
          name: 'c',
          uid,
        },
      },
    });
    await settle();
    expect(await state()).toEqual(['v Bound c', 'c Bound v']);
  });

  test.each([
    [undefined, 'storageclass.storage.k8s.io "x" not found'],
    ['kubernetes.io/no-provisioner', 'no volume plugin matched name: kubernetes.io/no-provisioner'],
  ])('that is provisioned by %s waits', async (provisioner, why) => {
    if (provisioner !== undefined) await classes().create(storageClass({ provisioner }));
    await create(newClaim('c', { storageClassName: 'x' }));
    expect(await said()).toEqual([`Warning ProvisioningFailed: ${why}`]);
    if (provisioner !== undefined) return;
    await classes().create(storageClass());
    await settle();
    expect((await said()).at(-1)).toContain('ExternalProvisioning');
  });

  test('that becomes the default is assigned to claims without a class', async () => {
    await create(newClaim('c'), newClaim('none', { storageClassName: '' }));
    await classes().create(storageClass());
    await settle();
    expect((await claims().get('c')).spec.storageClassName).toBeUndefined();
    await classes().patch('x', MERGE, {
      metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    });
    await settle();
    expect((await claims().get('c')).spec.storageClassName).toBe('x');
    expect((await claims().get('none')).spec.storageClassName).toBe('');
    expect((await said()).filter((each) => each.includes('ExternalProvisioning'))).toHaveLength(1);
  });
});

describe('a volume', () => {
  test('is reserved for the claim that it names', async () => {
    await create(
      newVolume('v', { claimRef: { namespace: 'default', name: 'mine' } }),
      newClaim('other'),
    );
    expect(await state()).toEqual(['v Available mine', 'other Pending -']);
    await create(newClaim('mine'));
    expect(await state()).toEqual(['v Bound mine', 'mine Bound v', 'other Pending -']);
    expect((await volumes().get('v')).metadata.annotations).toBeUndefined();
  });

  test('with a claim that has another volume becomes available again', async () => {
    await create(newVolume('v'), newClaim('c'));
    const { uid } = (await claims().get('c')).metadata;
    const claimRef = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      namespace: 'default',
      name: 'c',
      uid,
    };
    const annotations = { 'pv.kubernetes.io/bound-by-controller': 'yes' };
    await create(
      newVolume('second', { claimRef }, { annotations }),
      newVolume('users', { claimRef }),
    );
    expect(await state()).toEqual([
      'second Available -',
      'users Available c',
      'v Bound c',
      'c Bound v',
    ]);
    expect((await volumes().get('second')).metadata.annotations).toBeUndefined();
    expect((await volumes().get('users')).spec.claimRef?.uid).toBeUndefined();
  });

  test.each([
    ['Retain', 'Released', []],
    // Until a pod has deleted its files: recycling/volume-recycler.test.ts.
    ['Recycle', 'Released', []],
    [
      'Delete',
      'Failed',
      [
        'Warning VolumeFailedDelete: error getting deleter volume plugin for volume "v": no ' +
          'deletable volume plugin matched',
      ],
    ],
  ] as const)(
    'with the policy %s is %s when its claim has gone',
    async (policy, phase, eventTexts) => {
      await create(newVolume('v', { persistentVolumeReclaimPolicy: policy }), newClaim('c'));
      await claims().patch('c', MERGE, { metadata: { finalizers: null } });
      await claims().delete('c');
      await settle();
      expect(await state()).toEqual([`v ${phase} c`]);
      expect(await said()).toEqual(eventTexts);
      // A new claim with the same name does not get the volume.
      await create(newClaim('c'));
      expect(await state()).toEqual([`v ${phase} c`, 'c Pending -']);
    },
  );
});

test('bindings reach the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new PersistentVolumeBinder(config),
    steps: [
      async ({ client }) => {
        await client.resource(storageClasses).create(storageClass());
        for (const each of [newVolume('a'), newVolume('b', {}, {}, '2Gi')])
          await client.resource(persistentVolumes).create(each);
        for (const each of [newClaim('one'), newClaim('asked', { storageClassName: 'x' })]) {
          await client.resource(persistentVolumeClaims).create(each);
        }
      },
      async ({ client }) => {
        await client
          .resource(persistentVolumeClaims)
          .create(newClaim('two', { volumeName: 'b' }, '2Gi'));
        const inDefault = client.resource(persistentVolumeClaims).namespace('default');
        await inDefault.patch('one', MERGE, { metadata: { finalizers: null } });
        await inDefault.delete('one');
      },
    ],
    outcome: [persistentVolumes, persistentVolumeClaims],
    rest: '1m',
  });
  expect(writes).toBeGreaterThan(8);
  expect(outcome).toHaveLength(4);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
