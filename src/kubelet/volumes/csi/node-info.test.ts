// The reports of drivers about themselves, against the API server.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodes } from '#api/groups/core/v1/index.ts';
import { csiNodes } from '#api/groups/storage/v1/index.ts';
import { startTestCluster, type TestCluster } from '#controllers/testing/test-cluster.ts';
import { recordingLogger } from '#machinery/log.ts';
import { CsiNodeInfo, type DriverNodeInfo } from './node-info.ts';

const INFO: DriverNodeInfo = { nodeId: 'n1-in-d', maxVolumes: 3, topology: { zone: 'a' } };

let cluster: TestCluster;
let info: CsiNodeInfo;

beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.client.resource(nodes).create({ metadata: { name: 'n1' } });
  info = new CsiNodeInfo({
    client: cluster.client,
    clock: cluster.clock,
    logger: recordingLogger(),
    nodeName: 'n1',
    signal: new AbortController().signal,
  });
});
afterEach(() => cluster.stop());

const drivers = async () => (await cluster.client.resource(csiNodes).get('n1')).spec.drivers;
const node = () => cluster.client.resource(nodes).get('n1');

/** Runs the change; lets the clock pass its retries. */
async function settled(change: Promise<void>): Promise<unknown> {
  const outcome = change.then(
    () => undefined,
    (error: unknown) => error,
  );
  await cluster.clock.advance(120_000);
  return await outcome;
}

test('a driver is recorded in the CSINode and the Node, and withdrawn', async () => {
  await info.install('d', INFO);
  expect(await drivers()).toEqual([
    { name: 'd', nodeID: 'n1-in-d', topologyKeys: ['zone'], allocatable: { count: 3 } },
  ]);
  expect((await node()).metadata).toMatchObject({
    labels: { zone: 'a' },
    annotations: { 'csi.volume.kubernetes.io/nodeid': '{"d":"n1-in-d"}' },
  });
  await info.uninstall('d');
  expect((await drivers()) ?? []).toEqual([]);
  expect((await node()).metadata.annotations).toBeUndefined();
});

test.each([
  [0, undefined],
  [-1, undefined],
  [-(2 ** 63), undefined],
  [2 ** 31, { count: 2 ** 31 - 1 }],
  [2 ** 63, { count: 2 ** 31 - 1 }],
])('a driver that reports a limit of %d volumes', async (maxVolumes, allocatable) => {
  await info.install('d', { ...INFO, maxVolumes });
  expect((await drivers())?.[0]?.allocatable).toEqual(allocatable);
});

test('a driver that registers twice is recorded once, with what it reports last', async () => {
  await Promise.all([info.install('d', INFO), info.install('d', { ...INFO, maxVolumes: 5 })]);
  expect(await drivers()).toEqual([
    { name: 'd', nodeID: 'n1-in-d', topologyKeys: ['zone'], allocatable: { count: 5 } },
  ]);
});

test('a driver without a node name is not recorded', async () => {
  await expect(info.install('d', { ...INFO, nodeId: '' })).rejects.toThrow(
    'error adding CSI driver node info: driverNodeID must not be empty',
  );
});

test('a driver cannot change a label of the node', async () => {
  await info.install('d', INFO);
  expect(await settled(info.install('other', { ...INFO, topology: { zone: 'b' } }))).toEqual(
    expect.objectContaining({
      message:
        'error updating Node object with CSI driver node info: error updating node: detected ' +
        'topology value collision: driver reported "zone":"b" but existing label is "zone":"a"',
    }),
  );
  expect((await node()).metadata.labels).toEqual({ zone: 'a' });
});

test("a corrupt annotation is not overwritten: another driver's name could be lost", async () => {
  await cluster.client.resource(nodes).patch('n1', 'application/merge-patch+json', {
    metadata: { annotations: { 'csi.volume.kubernetes.io/nodeid': '{"d' } },
  });
  expect(await settled(info.install('d', INFO))).toEqual(
    expect.objectContaining({
      message: expect.stringContaining(
        `failed to parse node's "csi.volume.kubernetes.io/nodeid" annotation value ("{\\"d")`,
      ) as string,
    }),
  );
});

test('a CSINode of an earlier Node of that name is replaced', async () => {
  await info.install('d', INFO);
  await cluster.client.resource(nodes).delete('n1');
  await cluster.client.resource(nodes).create({ metadata: { name: 'n1' } });
  await info.install('e', { ...INFO, nodeId: 'n1-in-e' });
  expect((await drivers())?.map(({ name }) => name)).toEqual(['e']);
});
