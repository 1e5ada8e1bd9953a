import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { persistentVolumeClaims, persistentVolumes } from '#api/groups/core/v1/index.ts';
import { storageClasses } from '#api/groups/storage/v1/index.ts';
import type { Client } from '#client/client.ts';
import { PersistentVolumeBinder } from '../persistent-volume/index.ts';
import { newClaim, newVolume } from '../persistent-volume/testing/objects.ts';
import { disturb } from '../testing/robustness.ts';
import { eventsOf } from '../testing/said.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { VolumeExpandController } from './index.ts';

const MERGE = 'application/merge-patch+json';
const NOTE = 'volume.alpha.kubernetes.io/pre-resize-capacity';
const WAITING = 'ExternalExpanding: waiting for an external controller to expand this PVC';

async function createBound(client: Client, spec: object): Promise<void> {
  await client
    .resource(storageClasses)
    .create({ metadata: { name: 'x' }, provisioner: 'p', allowVolumeExpansion: true });
  await client
    .resource(persistentVolumes)
    .create(newVolume('v', { storageClassName: 'x', ...spec }));
  await client.resource(persistentVolumeClaims).create(newClaim('c', { storageClassName: 'x' }));
}
const ask = (client: Client, storage: string) =>
  client
    .resource(persistentVolumeClaims)
    .namespace('default')
    .patch('c', MERGE, { spec: { resources: { requests: { storage } } } });
const grow = async (client: Client, storage: string): Promise<void> => {
  await client.resource(persistentVolumes).patch('v', MERGE, { spec: { capacity: { storage } } });
  await client
    .resource(persistentVolumeClaims)
    .namespace('default')
    .patch('c', MERGE, { status: { capacity: { storage } } }, { subresource: 'status' });
};

describe('a claim that requests more', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.run((config) => new PersistentVolumeBinder(config));
    await cluster.run((config) => new VolumeExpandController(config));
  });
  afterEach(() => cluster.stop());
  const said = async () =>
    (await eventsOf(cluster.client)).map(
      ({ type, reason, message }) => `${type} ${reason}: ${message}`,
    );

  test.each([
    ['of a CSI driver', { hostPath: null, csi: { driver: 'd', volumeHandle: 'h' } }, 'Normal'],
    ['of a kind without a resizer', {}, 'Warning'],
  ])('%s gets one event that names the awaited resizer', async (_, spec, type) => {
    await createBound(cluster.client, spec);
    await cluster.clock.advance('1s');
    await ask(cluster.client, '2Gi');
    await cluster.clock.advance('1s');
    expect(await said()).toEqual([`${type} ${WAITING}`]);
    await grow(cluster.client, '2Gi');
    await cluster.clock.advance('1s');
    expect(await said()).toHaveLength(1);
  });

  test('of a removed in-tree plugin is left to the CSI driver that replaces it', async () => {
    await createBound(cluster.client, {
      hostPath: null,
      awsElasticBlockStore: { volumeID: 'vol-1' },
    });
    await cluster.clock.advance('1s');
    await ask(cluster.client, '2Gi');
    await cluster.clock.advance('1s');
    expect(await said()).toEqual([
      'Normal ExternalExpanding: CSI migration enabled for kubernetes.io/aws-ebs; waiting ' +
        'for external resizer to expand the pvc',
    ]);
    const claim = await cluster.client
      .resource(persistentVolumeClaims)
      .namespace('default')
      .get('c');
    expect(claim.metadata.annotations).toMatchObject({
      'volume.kubernetes.io/storage-resizer': 'ebs.csi.aws.com',
    });
  });

  test('loses the annotation of its volume when the expansion is done', async () => {
    await createBound(cluster.client, {});
    await cluster.clock.advance('1s');
    await cluster.client
      .resource(persistentVolumes)
      .patch('v', MERGE, { metadata: { annotations: { [NOTE]: '1Gi' } } });
    await ask(cluster.client, '2Gi');
    await cluster.clock.advance('1s');
    const annotations = async () =>
      (await cluster.client.resource(persistentVolumes).get('v')).metadata.annotations;
    expect(await annotations()).toHaveProperty([NOTE]);
    await grow(cluster.client, '2Gi');
    await cluster.clock.advance('1s');
    expect(await annotations()).not.toHaveProperty([NOTE]);
  });
});

test('reach the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new VolumeExpandController(config),
    others: [(config) => new PersistentVolumeBinder(config)],
    steps: [
      ({ client }) => createBound(client, {}),
      async ({ client }) => {
        await client
          .resource(persistentVolumes)
          .patch('v', MERGE, { metadata: { annotations: { [NOTE]: '1Gi' } } });
        await ask(client, '2Gi');
      },
      ({ client }) => grow(client, '2Gi'),
    ],
    outcome: [persistentVolumes, persistentVolumeClaims],
    rest: '1m',
  });
  expect([writes, outcome.length]).toEqual([1, 2]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
