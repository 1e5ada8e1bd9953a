import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '#api/groups/core/v1/index.ts';
import { csiDrivers, volumeAttachments } from '#api/groups/storage/v1/index.ts';
import type { Client } from '#client/client.ts';
import { newClaim, newVolume } from '../persistent-volume/testing/objects.ts';
import { PersistentVolumeBinder } from '../persistent-volume/index.ts';
import { disturb } from '../testing/robustness.ts';
import { eventsOf } from '../testing/said.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { AttachDetachController } from './index.ts';

const MERGE = 'application/merge-patch+json';
const MANAGED = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' };
const UNIQUE = 'kubernetes.io/csi/d.example.com^h-v';

async function addNode(client: Client, name: string): Promise<void> {
  await client.resource(nodes).create({
    metadata: { name, annotations: MANAGED },
    status: {
      conditions: [
        { type: 'Ready', status: 'True', lastHeartbeatTime: null, lastTransitionTime: null },
      ],
    },
  });
}
async function addVolume(
  client: Client,
  accessModes: readonly ('ReadWriteOnce' | 'ReadWriteMany')[] = ['ReadWriteOnce'],
): Promise<void> {
  const csi = { driver: 'd.example.com', volumeHandle: 'h-v' };
  await client
    .resource(persistentVolumes)
    .create(newVolume('v', { hostPath: null, csi, accessModes } as object));
  await client.resource(persistentVolumeClaims).create(newClaim('c', { accessModes }));
}
const addPod = (client: Client, name: string, nodeName: string) =>
  client.resource(pods).create({
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName,
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
    },
  });
const removePod = (client: Client, name: string) =>
  client.resource(pods).namespace('default').delete(name, { gracePeriodSeconds: 0 });
const attachmentsOf = async (client: Client) =>
  (await client.resource(volumeAttachments).list()).items;
/** Sets the status that a CSI driver's attacher would report. */
async function answer(client: Client, status: object = { attached: true }): Promise<void> {
  for (const each of await attachmentsOf(client)) {
    await client
      .resource(volumeAttachments)
      .patch(each.metadata.name, MERGE, { status }, { subresource: 'status' });
  }
}
const mount = (client: Client, name: string, volumesInUse: readonly string[]) =>
  client
    .resource(nodes)
    .patch(name, MERGE, { status: { volumesInUse } }, { subresource: 'status' });

describe('a volume of a CSI driver', () => {
  let cluster: TestCluster;
  let client: Client;
  beforeEach(async () => {
    cluster = await startTestCluster();
    client = cluster.client;
    await cluster.run((config) => new PersistentVolumeBinder(config));
    await cluster.run((config) => new AttachDetachController(config));
    await addNode(client, 'n1');
    await addNode(client, 'n2');
  });
  afterEach(() => cluster.stop());
  const settle = () => cluster.clock.advance('1s');
  const where = async () => (await attachmentsOf(client)).map(({ spec }) => spec.nodeName);
  const volumesAttached = async (name: string) =>
    (await client.resource(nodes).get(name)).status.volumesAttached;
  const said = async () =>
    (await eventsOf(client)).map(
      ({ type, reason, message, involvedObject }) =>
        `${involvedObject.name} ${type} ${reason}: ${message}`,
    );

  test("is attached to the node of a pod that uses it, and listed in the node's status", async () => {
    await addVolume(client);
    await addPod(client, 'p', 'n1');
    await settle();
    expect(await attachmentsOf(client)).toMatchObject([
      {
        metadata: { name: 'csi-85c0d28fac207d13a0672b2ee97987971b7335d3d805243d8560208167ae2860' },
        spec: { attacher: 'd.example.com', nodeName: 'n1', source: { persistentVolumeName: 'v' } },
        status: { attached: false },
      },
    ]);
    expect(await volumesAttached('n1')).toBeUndefined();
    await answer(client);
    await settle();
    expect(await volumesAttached('n1')).toEqual([{ name: UNIQUE, devicePath: '' }]);
    expect(await said()).toEqual([
      'p Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "v" ',
    ]);
  });

  test('of a replaced in-tree plugin is attached by the driver that replaces it', async () => {
    const awsElasticBlockStore = { volumeID: 'aws://z/vol-1' };
    await client
      .resource(persistentVolumes)
      .create(newVolume('v', { hostPath: null, awsElasticBlockStore } as object));
    await client.resource(persistentVolumeClaims).create(newClaim('c'));
    await addPod(client, 'p', 'n1');
    await settle();
    expect((await attachmentsOf(client)).map(({ spec }) => spec)).toEqual([
      { attacher: 'ebs.csi.aws.com', nodeName: 'n1', source: { persistentVolumeName: 'v' } },
    ]);
    await answer(client);
    await settle();
    expect(await volumesAttached('n1')).toEqual([
      { name: 'kubernetes.io/csi/ebs.csi.aws.com^vol-1', devicePath: '' },
    ]);
    await removePod(client, 'p');
    await settle();
    expect([await where(), await volumesAttached('n1')]).toEqual([[], undefined]);
  });

  test('that a pod names in its spec is attached without a PersistentVolume', async () => {
    const add = (name: string, nodeName: string) =>
      client.resource(pods).create({
        metadata: { name, namespace: 'default' },
        spec: {
          nodeName,
          containers: [{ name: 'c', image: 'i' }],
          volumes: [
            { name: 'v', gcePersistentDisk: { pdName: 'pd', fsType: 'ext4' } },
            {
              name: 'w',
              azureDisk: {
                diskName: 'd',
                diskURI: 'https://a.blob.core.windows.net/c/d.vhd',
                kind: 'Shared' as const,
              },
            },
          ],
        },
      });
    await add('p', 'n1');
    await settle();
    const csi = {
      driver: 'pd.csi.storage.gke.io',
      volumeHandle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd',
      fsType: 'ext4',
      volumeAttributes: { partition: '' },
    };
    const inlineVolumeSpec = { accessModes: ['ReadWriteOnce'], csi, volumeMode: 'Filesystem' };
    expect((await attachmentsOf(client)).map(({ spec }) => spec)).toEqual([
      { attacher: csi.driver, nodeName: 'n1', source: { inlineVolumeSpec } },
    ]);
    await answer(client);
    await add('q', 'n2');
    await settle();
    expect(await volumesAttached('n1')).toEqual([
      { name: `kubernetes.io/csi/${csi.driver}^${csi.volumeHandle}`, devicePath: '' },
    ]);
    expect(await said()).toEqual([
      `p Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "${csi.driver}-pd" `,
      `q Warning FailedAttachVolume: Multi-Attach error for volume "${csi.driver}-pd" Volume ` +
        'is already used by pod(s) p',
    ]);
    await removePod(client, 'p');
    await settle();
    expect(await where()).toEqual(['n2']);
    await removePod(client, 'q');
    await settle();
    expect([await where(), await volumesAttached('n1')]).toEqual([[], undefined]);
  });

  test('that cannot be attached is reported in an event of the pod', async () => {
    await addVolume(client);
    await addPod(client, 'p', 'n1');
    await settle();
    await answer(client, {
      attached: false,
      attachError: { time: '2026-01-01T00:00:00Z', message: 'no such disk' },
    });
    await settle();
    expect(await said()).toEqual([
      'p Warning FailedAttachVolume: AttachVolume.Attach failed for volume "v" : no such disk',
    ]);
  });

  test('is not attached where its driver needs no attachment, or the kubelet attaches it', async () => {
    await client
      .resource(csiDrivers)
      .create({ metadata: { name: 'd.example.com' }, spec: { attachRequired: false } });
    await addVolume(client);
    await addPod(client, 'p', 'n1');
    await settle();
    expect(await where()).toEqual([]);
    await client.resource(nodes).patch('n1', MERGE, { metadata: { annotations: null } });
    await client.resource(csiDrivers).delete('d.example.com');
    await settle();
    expect(await where()).toEqual([]);
    await client.resource(nodes).patch('n1', MERGE, { metadata: { annotations: MANAGED } });
    await settle();
    expect(await where()).toEqual(['n1']);
  });

  test('is detached when no pod uses it and the node has unmounted it', async () => {
    await addVolume(client);
    await addPod(client, 'p', 'n1');
    await settle();
    await answer(client);
    await mount(client, 'n1', [UNIQUE]);
    await removePod(client, 'p');
    await cluster.clock.advance('10m');
    expect(await where()).toEqual(['n1']);
    await mount(client, 'n1', []);
    await settle();
    expect([await where(), await volumesAttached('n1')]).toEqual([[], undefined]);
  });

  test('of a pod that has ended is detached, and a pod on another node gets it', async () => {
    await addVolume(client);
    await addPod(client, 'p', 'n1');
    await settle();
    await answer(client);
    await addPod(client, 'q', 'n2');
    await settle();
    expect(await where()).toEqual(['n1']);
    expect((await said()).at(-1)).toBe(
      'q Warning FailedAttachVolume: Multi-Attach error for volume "v" Volume is already used by pod(s) p',
    );
    const status = { phase: 'Succeeded' };
    await client
      .resource(pods)
      .namespace('default')
      .patch('p', MERGE, { status }, { subresource: 'status' });
    await settle();
    expect(await where()).toEqual(['n2']);
  });

  test('for many nodes is attached to each', async () => {
    await addVolume(client, ['ReadWriteMany']);
    await addPod(client, 'p', 'n1');
    await addPod(client, 'q', 'n2');
    await settle();
    expect((await where()).toSorted()).toEqual(['n1', 'n2']);
  });

  test('for one node is attached to only one of two nodes that want it at once', async () => {
    await addVolume(client);
    await Promise.all([addPod(client, 'p', 'n1'), addPod(client, 'q', 'n2')]);
    await settle();
    expect(await where()).toHaveLength(1);
  });

  test.each([
    [
      'is out of service',
      { spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] } },
      '1s',
    ],
    ['has been silent for long', {}, '7m'],
  ])('is taken from a node that %s though it is mounted', async (_, patch, wait) => {
    await addVolume(client);
    await addPod(client, 'p', 'n1');
    await settle();
    await answer(client);
    await mount(client, 'n1', [UNIQUE]);
    await settle();
    const conditions = [{ type: 'Ready', status: 'Unknown' }];
    await client
      .resource(nodes)
      .patch(
        'n1',
        'application/strategic-merge-patch+json',
        { status: { conditions } },
        { subresource: 'status' },
      );
    await client.resource(nodes).patch('n1', MERGE, patch);
    await removePod(client, 'p');
    await cluster.clock.advance(wait);
    expect(await where()).toEqual([]);
  });

  test('that was removed by force is detached; attachments of other attachers stay', async () => {
    await addVolume(client);
    await addPod(client, 'p', 'n1');
    await settle();
    for (const [name, persistentVolumeName] of [
      ['other', 'v'],
      ['unknown', 'no-such-volume'],
    ] as const) {
      const spec = { attacher: 'd.example.com', nodeName: 'n2', source: { persistentVolumeName } };
      await client.resource(volumeAttachments).create({ metadata: { name }, spec });
    }
    await client.resource(persistentVolumes).patch('v', MERGE, { metadata: { finalizers: null } });
    await client.resource(persistentVolumes).delete('v');
    await settle();
    expect((await attachmentsOf(client)).map(({ metadata }) => metadata.name)).toEqual([
      'other',
      'unknown',
    ]);
  });

  test('is detached from a node that is gone', async () => {
    await addVolume(client);
    await addPod(client, 'p', 'n1');
    await settle();
    await client.resource(nodes).delete('n1');
    await settle();
    expect(await where()).toEqual([]);
  });
});

test('attachments reach the same outcome after every fault', async () => {
  const { outcome, disturbed, writes } = await disturb({
    subject: (config) => new AttachDetachController(config),
    others: [(config) => new PersistentVolumeBinder(config)],
    steps: [
      async ({ client }) => {
        await addNode(client, 'n1');
        await addNode(client, 'n2');
        await addVolume(client);
        await addPod(client, 'p', 'n1');
      },
      ({ client }) => answer(client),
      async ({ client }) => {
        await removePod(client, 'p');
        await addPod(client, 'q', 'n2');
      },
      ({ client }) => answer(client),
    ],
    outcome: [volumeAttachments, nodes],
    rest: '1m',
  });
  expect(writes).toBeGreaterThan(4);
  expect(outcome).toHaveLength(3);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
