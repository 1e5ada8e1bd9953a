import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type DeviceTaint,
  type DeviceToleration,
  type ResourceClaim,
  resourceClaims,
  resourceSlices,
} from '#api/groups/resource/v1/index.ts';
import type { Client } from '#client/client.ts';
import { formatTime } from '#machinery/text/time.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { disturb } from '../testing/robustness.ts';
import { eventsOf } from '../testing/said.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { claimEvictionTime } from './decision.ts';
import { DeviceTaintEvictionController } from './index.ts';

const MERGE = 'application/merge-patch+json';
const TAINT: DeviceTaint = { key: 'broken', value: 'yes', effect: 'NoExecute' };
const tolerates = (tolerationSeconds?: number): DeviceToleration => ({
  key: 'broken',
  operator: 'Exists',
  effect: 'NoExecute',
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
});

describe('claimEvictionTime', () => {
  const added = Date.parse('2026-01-01T00:00:00Z');
  const taint = (change: object = {}): DeviceTaint => ({
    ...TAINT,
    timeAdded: '2026-01-01T00:00:00Z',
    ...change,
  });
  test.each<[string, readonly DeviceTaint[], readonly DeviceToleration[], number | undefined]>([
    ['no taint', [], [], undefined],
    ['another effect', [taint({ effect: 'NoSchedule' })], [], undefined],
    ['not tolerated', [taint()], [], 0],
    ['tolerated', [taint()], [tolerates()], undefined],
    ['tolerated for a time', [taint()], [tolerates(60)], 60],
    ['the shortest of several times', [taint()], [tolerates(60), tolerates(30)], 30],
    ['once for ever', [taint()], [tolerates(60), tolerates()], undefined],
    ['for less than no time', [taint()], [tolerates(-5)], 0],
    [
      'another value',
      [taint()],
      [{ key: 'broken', operator: 'Equal', value: 'no', effect: 'NoExecute' }],
      0,
    ],
    [
      'the same value',
      [taint()],
      [{ key: 'broken', operator: 'Equal', value: 'yes', effect: 'NoExecute' }],
      undefined,
    ],
    ['another key', [taint()], [{ key: 'x', operator: 'Exists', effect: 'NoExecute' }], 0],
    ['every key', [taint()], [{ operator: 'Exists', effect: 'NoExecute' }], undefined],
    ['every effect', [taint()], [{ key: 'broken', operator: 'Exists' }], 0],
    [
      'several taints',
      [taint({ timeAdded: '2026-01-01T00:01:00Z' }), taint()],
      [tolerates(10)],
      10,
    ],
  ])('%s', (_, taints, tolerations, seconds) => {
    const results = [
      { request: 'r', driver: 'd', pool: 'p', device: 'x', tolerations: [...tolerations] },
    ];
    const claim = {
      status: { allocation: { devices: { results } } },
    } as unknown as Immutable<ResourceClaim>;
    expect(claimEvictionTime(claim, () => taints)).toBe(
      seconds === undefined ? undefined : added + seconds * 1000,
    );
  });
});

const slice = (taints: readonly DeviceTaint[], generation = 1) => ({
  driver: 'd.example.com',
  nodeName: 'n',
  pool: { name: 'n', generation, resourceSliceCount: 1 },
  devices: [{ name: 'a', taints: [...taints] }, { name: 'b' }],
});
const createSlice = (client: Client, taints: readonly DeviceTaint[], name = 's', generation = 1) =>
  client.resource(resourceSlices).create({ metadata: { name }, spec: slice(taints, generation) });
const setTaints = (client: Client, ...taints: DeviceTaint[]) =>
  client.resource(resourceSlices).patch('s', MERGE, { spec: slice(taints) });
/** Creates a pod that has the device, and its claim. */
async function use(
  client: Client,
  name: string,
  device: string,
  ...tolerations: DeviceToleration[]
): Promise<void> {
  const namespace = 'default';
  const pod = await client.resource(pods).create({
    metadata: { name, namespace, finalizers: ['example.com/keep'] },
    spec: {
      nodeName: 'n',
      containers: [{ name: 'c', image: 'i' }],
      resourceClaims: [{ name: 'device', resourceClaimName: name }],
    },
  });
  const requests = [{ name: 'r', exactly: { deviceClassName: 'x' } }];
  const claim = await client
    .resource(resourceClaims)
    .create({ metadata: { name, namespace }, spec: { devices: { requests } } });
  const results = [{ request: 'r', driver: 'd.example.com', pool: 'n', device, tolerations }];
  const reservedFor = [{ resource: 'pods', name, uid: pod.metadata.uid }];
  await client
    .resource(resourceClaims)
    .updateStatus({ ...claim, status: { allocation: { devices: { results } }, reservedFor } });
}
const leaving = async (client: Client) =>
  (await client.resource(pods).list()).items
    .filter(({ metadata }) => metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name);

describe('DeviceTaintEvictionController', () => {
  let cluster: TestCluster;
  let client: Client;
  let instruments: Instruments;
  beforeEach(async () => {
    cluster = await startTestCluster();
    client = cluster.client;
    instruments = new Instruments();
    await createSlice(client, []);
  });
  afterEach(() => cluster.stop());
  const start = () =>
    cluster.run((config) => new DeviceTaintEvictionController({ ...config, instruments }));
  const said = async () =>
    (await eventsOf(client)).map(
      ({ reason, message, involvedObject }) => `${involvedObject.name} ${reason}: ${message}`,
    );

  test('evicts pods that use a tainted device at once or after their toleration, and records why', async () => {
    await start();
    await use(client, 'none', 'a');
    await use(client, 'brief', 'a', tolerates(60));
    await use(client, 'always', 'a', tolerates());
    await use(client, 'elsewhere', 'b');
    await setTaints(client, TAINT);
    await cluster.clock.settle();
    expect(await leaving(client)).toEqual(['none']);
    await cluster.clock.advance('58s');
    expect(await leaving(client)).toEqual(['none']);
    await cluster.clock.advance('10m');
    expect(await leaving(client)).toEqual(['brief', 'none']);
    expect((await said()).sort()).toEqual([
      'brief DeviceTaintManagerEviction: Marking for deletion',
      'none DeviceTaintManagerEviction: Marking for deletion',
    ]);
    expect(
      (await client.resource(pods).namespace('default').get('none')).status.conditions,
    ).toMatchObject([
      {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'DeletionByDeviceTaintManager',
        message: 'Device Taint manager: deleting due to NoExecute taint',
      },
    ]);
    expect(instruments.text()).toContain(
      'device_taint_eviction_controller_pod_deletions_total 2\n',
    );
    expect(instruments.text()).toContain(
      'device_taint_eviction_controller_pod_deletion_duration_seconds_count 2\n',
    );
  });

  test('keeps pods if the taint is removed in time or its slice is outdated', async () => {
    await start();
    await use(client, 'brief', 'a', tolerates(60));
    for (const heal of [() => setTaints(client), () => createSlice(client, [], 't', 2)]) {
      await setTaints(client, TAINT);
      await cluster.clock.advance('30s');
      await heal();
      await cluster.clock.advance('10m');
      expect(await leaving(client)).toEqual([]);
    }
    expect(await said()).toEqual(['brief DeviceTaintManagerEviction: Cancelling deletion']);
    expect((await eventsOf(client))[0]?.count).toBe(2);
    // Now the old slice reports the device's taints.
    await client.resource(resourceSlices).delete('t');
    await cluster.clock.settle();
    expect(await leaving(client)).toEqual(['brief']);
  });

  test('evicts pods that already use a tainted device at its start, and pods that get one later', async () => {
    await setTaints(client, { ...TAINT, timeAdded: formatTime(cluster.clock.now()) });
    await use(client, 'first', 'a');
    await start();
    await cluster.clock.settle();
    expect(await leaving(client)).toEqual(['first']);
    await use(client, 'second', 'a');
    await cluster.clock.settle();
    expect(await leaving(client)).toEqual(['first', 'second']);
  });

  test('leaves alone pods that do not use the claim or have ended', async () => {
    await start();
    await use(client, 'p', 'a');
    const claims = client.resource(resourceClaims).namespace('default');
    await claims.patch('p', MERGE, { status: { reservedFor: null } }, { subresource: 'status' });
    await use(client, 'done', 'a');
    const status = { phase: 'Succeeded' };
    await client
      .resource(pods)
      .namespace('default')
      .patch('done', MERGE, { status }, { subresource: 'status' });
    await setTaints(client, TAINT);
    await cluster.clock.advance('1m');
    expect(await leaving(client)).toEqual([]);
  });
});

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new DeviceTaintEvictionController(config),
    steps: [
      async ({ client }) => {
        await createSlice(client, []);
        await use(client, 'goes', 'a');
        await use(client, 'goes-later', 'a', tolerates(60));
        await use(client, 'stays', 'a', tolerates());
      },
      async ({ client }) => {
        await setTaints(client, TAINT);
      },
    ],
    outcome: [pods],
    rest: '2m',
  });
  // A condition and the deletion of each.
  expect(writes).toBe(4);
  const gone = outcome.filter(
    (pod) => 'deletionTimestamp' in (pod as { metadata: object }).metadata,
  );
  expect([outcome.length, gone.length]).toEqual([3, 2]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
