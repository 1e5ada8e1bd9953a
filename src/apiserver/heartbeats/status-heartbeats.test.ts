// The plain request is the oracle, as for Leases: two servers get the same reports of statuses that have
// not changed, one as requests and one as batches.

import { afterEach, describe, expect, test } from 'vitest';
import { nodes as nodeType } from '#api/groups/core/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { StorageEvent } from '#storage/interface.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';
import { kubeletClient, tracesOf } from './testing/traces.ts';

const NODES = ['a', 'b-1', 'c.example'];
const PREFIX = '/registry/minions/';
const STRATEGIC = 'application/strategic-merge-patch+json';
const TYPES = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready', 'example.com/Runtime'];

interface Cluster extends TestServer {
  readonly clock: VirtualClock;
  readonly events: StorageEvent[];
  /** Reports the status by requests of its kubelet. */
  reportOne(node: string): Promise<void>;
  /** Reports by one batch, and what it refuses by requests. Resolves with those. */
  reportAll(nodes: readonly string[]): Promise<readonly string[]>;
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(): Promise<Cluster> {
  const clock = new VirtualClock();
  const test = await startTestServer({ clock });
  const { server, storage, client } = test;
  const users = new Map(NODES.map((node) => [node, kubeletClient(test, node).resource(nodeType)]));
  const since = formatTime(clock.now());
  const versions = new Map<string, string>();
  const reportOne = async (name: string): Promise<void> => {
    const conditions = TYPES.map((type) => ({
      type,
      status: 'True',
      reason: 'Test',
      message: '"lastHeartbeatTime":"x"',
      lastHeartbeatTime: formatTime(clock.now()),
      lastTransitionTime: since,
    }));
    const status = {
      capacity: { cpu: '8', memory: '1Gi', pods: '110' },
      conditions,
      nodeInfo: { kubeletVersion: 'v1.36.0' },
    };
    const node = await users
      .get(name)!
      .patch(name, STRATEGIC, { status }, { subresource: 'status' });
    versions.set(name, node.metadata.resourceVersion);
  };
  for (const name of NODES)
    await users.get(name)!.create({ metadata: { name, labels: { zone: 'x' } } });
  await clock.advance(1000);
  // A controller has a condition of its own.
  const type = 'NetworkUnavailable';
  const lastHeartbeatTime = formatTime(clock.now());
  const own = { type, status: 'False', lastHeartbeatTime, lastTransitionTime: lastHeartbeatTime };
  for (const name of NODES)
    await client
      .resource(nodeType)
      .patch(name, STRATEGIC, { status: { conditions: [own] } }, { subresource: 'status' });
  await clock.advance(1000);
  for (const name of NODES) await reportOne(name);
  await clock.advance(1000);
  for (const name of NODES) await reportOne(name);
  const events: StorageEvent[] = [];
  const watch = storage.watch(PREFIX);
  void (async () => {
    for await (const event of watch) events.push(event);
  })();
  stops.push(async () => {
    watch.stop();
    await test.stop();
    expect(test.logger.errors).toEqual([]);
  });
  const reportAll = async (nodes: readonly string[]): Promise<readonly string[]> => {
    const refused = await server.makeHeartbeats({
      kind: 'status',
      nodes,
      versions: nodes.map((name) => versions.get(name)!),
      atMs: clock.now(),
      userAgent: 'kubelet',
    });
    for (const node of refused) await reportOne(node).catch(() => undefined);
    return refused;
  };
  return { ...test, clock, events, reportOne, reportAll };
}

/** Returns everything that clients and operators can see of a server. */
async function seen(cluster: Cluster): Promise<object> {
  return {
    ...(await tracesOf(cluster, PREFIX)),
    listed: await cluster.client.resource(nodeType).list(),
  };
}

test('a batch leaves what single requests leave, and is not refused', async () => {
  const plain = await start();
  const batch = await start();
  for (const seconds of [300, 1, 299, 3600]) {
    for (const { clock } of [plain, batch]) await clock.advance(seconds * 1000);
    await Promise.all(NODES.map((node) => plain.reportOne(node)));
    expect(await batch.reportAll(NODES)).toEqual([]);
    expect(await seen(batch)).toEqual(await seen(plain));
  }
});

const patched =
  (patch: object, subresource?: 'status') =>
  ({ client }: Cluster): Promise<unknown> =>
    client.resource(nodeType).patch('a', STRATEGIC, patch, {
      ...(subresource !== undefined && { subresource }),
    });

describe('the kubelet makes the request, as always,', () => {
  test.each<readonly [string, (cluster: Cluster) => Promise<unknown>]>([
    ['a label', patched({ metadata: { labels: { lastHeartbeatTime: 'x' } } })],
    ['a taint', patched({ spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } })],
    ['another capacity', patched({ status: { capacity: { cpu: '9' } } }, 'status')],
    ['a condition less', patched({ status: { conditions: [] } }, 'status')],
    [
      'a time by another client',
      ({ client, clock }) =>
        client.resource(nodeType).patch(
          'a',
          STRATEGIC,
          {
            status: {
              conditions: [{ type: 'Ready', lastHeartbeatTime: formatTime(clock.now() - 1000) }],
            },
          },
          { subresource: 'status' },
        ),
    ],
    ['a deletion', ({ client }) => client.resource(nodeType).delete('a')],
  ])('after %s', async (what, change) => {
    const plain = await start();
    const batch = await start();
    for (let round = 0; round < 3; round++) {
      for (const cluster of [plain, batch]) {
        await cluster.clock.advance(300_000);
        if (round === 1) await change(cluster);
      }
      const refused = await batch.reportAll(NODES);
      if (round === 0 || what === 'a condition less') expect(refused).toEqual([]);
      if (round === 1 && what !== 'a condition less') expect(refused).toEqual(['a']);
      const made = NODES.filter((node) => !refused.includes(node));
      await Promise.all(made.map((node) => plain.reportOne(node)));
      for (const node of refused) await plain.reportOne(node).catch(() => undefined);
      expect(await seen(batch)).toEqual(await seen(plain));
    }
  });
});

describe('a status is refused', () => {
  test('at the instant of the one before', async () => {
    const cluster = await start();
    await cluster.clock.advance(300_000);
    expect(await cluster.reportAll(NODES)).toEqual([]);
    expect(await cluster.reportAll(NODES)).toEqual(NODES);
  });

  test('if the version is another one', async () => {
    const { server, clock } = await start();
    await clock.advance(300_000);
    const refused = await server.makeHeartbeats({
      kind: 'status',
      nodes: ['a'],
      versions: ['1'],
      atMs: clock.now(),
      userAgent: 'kubelet',
    });
    expect(refused).toEqual(['a']);
  });

  test('if another client owns fields of conditions that the kubelet reports', async () => {
    const cluster = await start();
    const { client, clock, server } = cluster;
    await clock.advance(1000);
    const { metadata, status } = await client.resource(nodeType).get('b-1');
    const entries = metadata.managedFields!;
    const node = await client.resource(nodeType).patch(
      'b-1',
      'application/json-patch+json',
      [
        {
          op: 'replace',
          path: '/metadata/managedFields',
          value: [{ ...entries.at(-1)!, manager: 'another' }, ...entries.slice(-1)],
        },
      ],
      {},
    );
    expect(node.status.conditions).toEqual(status.conditions);
    await clock.advance(300_000);
    const refused = await server.makeHeartbeats({
      kind: 'status',
      nodes: ['b-1'],
      versions: [node.metadata.resourceVersion],
      atMs: clock.now(),
      userAgent: 'kubelet',
    });
    expect(refused).toEqual(['b-1']);
  });

  test('by webhooks for Nodes', async () => {
    const cluster = await start();
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'] };
    const hook = {
      name: 'test.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/' },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Ignore',
      rules: [{ ...rule, resources: ['nodes/status'] }],
    };
    await cluster.client.transport.request({
      method: 'POST',
      path: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
      body: { metadata: { name: 'test' }, webhooks: [hook] },
    });
    await cluster.clock.advance(300_000);
    const { server, clock, client } = cluster;
    const { items } = await client.resource(nodeType).list();
    const refused = await server.makeHeartbeats({
      kind: 'status',
      nodes: NODES,
      versions: items.map(({ metadata }) => metadata.resourceVersion),
      atMs: clock.now(),
      userAgent: 'kubelet',
    });
    expect(refused).toEqual(NODES);
  });
});
