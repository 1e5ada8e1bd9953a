import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { events, nodes, pods } from '#api/groups/core/v1/index.ts';
import { formatMicroTime, formatTime } from '#machinery/text/time.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { NodeLifecycleController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const start = () => cluster.run((config) => new NodeLifecycleController(config));
const nodeClient = () => cluster.client.resource(nodes);
const leaseClient = () => cluster.client.resource(leases).namespace('kube-node-lease');
const GOOD = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

async function addNode(name: string, labels = {}): Promise<void> {
  await nodeClient().create({ metadata: { name, labels } });
  await leaseClient().create({
    metadata: { name },
    spec: { holderIdentity: name, leaseDurationSeconds: 40 },
  });
  await report(name, 'True');
}

/** Writes the conditions that the node's kubelet would report. */
async function report(name: string, ready: string, pressure?: string): Promise<void> {
  const now = formatTime(cluster.clock.now());
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: 'r',
    message: 'm',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  const conditions = [
    condition('Ready', ready),
    ...GOOD.map((type) => condition(type, type === pressure ? 'True' : 'False')),
  ];
  await nodeClient().patch(
    name,
    'application/strategic-merge-patch+json',
    { status: { conditions } },
    { subresource: 'status' },
  );
  await renew(name);
}
async function renew(name: string): Promise<void> {
  const patch = { spec: { renewTime: formatMicroTime(cluster.clock.now()) } };
  await leaseClient().patch(name, 'application/merge-patch+json', patch);
  await cluster.clock.settle();
}
/** Lets time pass while these nodes renew their leases. */
async function pass(seconds: number, alive: readonly string[]): Promise<void> {
  for (let i = 0; i < seconds / 10; i++) {
    for (const name of alive) await renew(name);
    await cluster.clock.advance('10s');
  }
}
const taints = async (name: string) =>
  ((await nodeClient().get(name)).spec.taints ?? [])
    .map(({ key, effect }) => `${key.split('/')[1]}:${effect}`)
    .sort();
const conditions = async (name: string) =>
  Object.fromEntries(
    ((await nodeClient().get(name)).status.conditions ?? []).map(({ type, status, reason }) => [
      type,
      `${status} ${reason}`,
    ]),
  );
const runPod = async (name: string, nodeName: string) => {
  const client = cluster.client.resource(pods).namespace('default');
  await client.create({
    metadata: { name },
    spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
  });
  const condition = {
    type: 'Ready',
    status: 'True',
    lastTransitionTime: formatTime(cluster.clock.now()),
  };
  await client.patch(
    name,
    'application/strategic-merge-patch+json',
    { status: { phase: 'Running', conditions: [condition] } },
    { subresource: 'status' },
  );
};

describe('NodeLifecycleController', () => {
  test('taints a node only while it is not ready, from its creation on', async () => {
    await start();
    await addNode('a');
    await addNode('b');
    expect(await taints('a')).toEqual([]);
    await report('a', 'False');
    expect(await taints('a')).toContain('not-ready:NoSchedule');
    await report('a', 'True', 'MemoryPressure');
    expect(await taints('a')).toEqual(['memory-pressure:NoSchedule']);
    await nodeClient().patch('a', 'application/merge-patch+json', {
      spec: { unschedulable: true },
    });
    await cluster.clock.settle();
    expect(await taints('a')).toEqual(['memory-pressure:NoSchedule', 'unschedulable:NoSchedule']);
    await nodeClient().patch('a', 'application/merge-patch+json', {
      spec: { unschedulable: null },
    });
    await report('a', 'True', 'DiskPressure');
    expect(await taints('a')).toEqual(['disk-pressure:NoSchedule']);
    // A kubelet chooses the types and states of its conditions.
    await report('a', 'name', 'constructor');
    expect(await taints('a')).toEqual([]);
  });

  test('keeps taints of other owners', async () => {
    await start();
    await addNode('a');
    const own = [
      { key: 'example.com/mine', effect: 'NoSchedule' },
      { key: 'node.kubernetes.io/not-ready', effect: 'PreferNoSchedule' },
    ];
    await nodeClient().patch('a', 'application/merge-patch+json', { spec: { taints: own } });
    await cluster.clock.settle();
    await report('a', 'False');
    await report('a', 'True');
    expect((await nodeClient().get('a')).spec.taints).toEqual(own);
  });

  test('handles a silent node: conditions, taints, event and pods', async () => {
    await start();
    for (const name of ['a', 'b']) await addNode(name);
    await runPod('on-a', 'a');
    await runPod('on-b', 'b');
    await pass(50, ['b']);
    expect((await conditions('a'))['Ready']).toBe('True r');
    await pass(10, ['b']);
    expect(await conditions('a')).toEqual({
      Ready: 'Unknown NodeStatusUnknown',
      MemoryPressure: 'Unknown NodeStatusUnknown',
      DiskPressure: 'Unknown NodeStatusUnknown',
      PIDPressure: 'Unknown NodeStatusUnknown',
    });
    expect((await nodeClient().get('a')).status.conditions?.[0]?.message).toBe(
      'Kubelet stopped posting node status.',
    );
    expect(await taints('a')).toEqual(['unreachable:NoExecute', 'unreachable:NoSchedule']);
    expect(
      (await nodeClient().get('a')).spec.taints?.find(({ effect }) => effect === 'NoExecute')
        ?.timeAdded,
    ).toBeDefined();
    expect(await taints('b')).toEqual([]);
    const ready = async (name: string) =>
      (await cluster.client.resource(pods).namespace('default').get(name)).status.conditions?.find(
        ({ type }) => type === 'Ready',
      )?.status;
    expect([await ready('on-a'), await ready('on-b')]).toEqual(['False', 'True']);
    await cluster.clock.settle();
    const { items } = await cluster.client.resource(events).list();
    expect(
      items
        .map(
          ({ reason, message, involvedObject }) => `${involvedObject.name} ${reason}: ${message}`,
        )
        .sort(),
    ).toEqual([
      'a NodeNotReady: Node a status is now: NodeNotReady',
      'a RegisteredNode: Registered Node a in Controller',
      'b RegisteredNode: Registered Node b in Controller',
      'on-a NodeNotReady: Node is not ready',
    ]);
    await report('a', 'True');
    expect(await taints('a')).toEqual([]);
  });

  test('counts renewals that its watches leave out', async () => {
    let renewedAt: number | undefined;
    await cluster.run(
      (config) =>
        new NodeLifecycleController({
          ...config,
          renewedAt: (name) => (name === 'a' ? renewedAt : undefined),
        }),
    );
    for (const name of ['a', 'b', 'c']) await addNode(name);
    await pass(40, ['c']);
    renewedAt = cluster.clock.monotonic();
    await pass(40, ['c']);
    expect((await conditions('a'))['Ready']).toBe('True r');
    expect((await conditions('b'))['Ready']).toBe('Unknown NodeStatusUnknown');
    await pass(20, ['c']);
    expect((await conditions('a'))['Ready']).toBe('Unknown NodeStatusUnknown');
  });

  test('reports a node that never reported', async () => {
    await start();
    await addNode('b');
    await nodeClient().create({ metadata: { name: 'a' } });
    await pass(50, ['b']);
    expect(await conditions('a')).toEqual({});
    await pass(20, ['b']);
    expect((await conditions('a'))['Ready']).toBe('Unknown NodeStatusNeverUpdated');
    expect((await nodeClient().get('a')).status.conditions?.[0]?.message).toBe(
      'Kubelet never posted node status.',
    );
    expect(await taints('a')).toContain('unreachable:NoSchedule');
  });

  test('evicts from one node after another, not from all at once', async () => {
    await start();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) await addNode(name);
    for (const name of ['a', 'b']) await report(name, 'False');
    const evicting = async () => {
      const all = await Promise.all(names.map(async (name) => [name, await taints(name)] as const));
      return all.filter(([, list]) => list.includes('not-ready:NoExecute')).map(([name]) => name);
    };
    await pass(10, names);
    expect((await evicting()).length).toBe(1);
    await pass(20, names);
    expect(await evicting()).toEqual(['a', 'b']);
  });

  test('evicts nothing when no node is ready, since the fault is then more likely in the control plane', async () => {
    await start();
    for (const name of ['a', 'b']) await addNode(name);
    await pass(60, ['b']);
    expect(await taints('a')).toContain('unreachable:NoExecute');
    await pass(70, []);
    expect(await taints('a')).toEqual(['unreachable:NoSchedule']);
    expect(await taints('b')).toEqual(['unreachable:NoSchedule']);
    await report('b', 'True');
    await pass(30, ['b']);
    expect(await taints('a')).toEqual(['unreachable:NoExecute', 'unreachable:NoSchedule']);
    expect(await taints('b')).toEqual([]);
  });

  test('excludes labelled nodes from the zone state, but still taints them', async () => {
    await start();
    await addNode('up');
    for (const name of ['a', 'b', 'c', 'd']) await addNode(name);
    for (const name of ['a', 'b', 'c', 'd']) await report(name, 'False');
    await pass(60, ['up', 'a', 'b', 'c', 'd']);
    const evicting = async () =>
      (await Promise.all(['a', 'b', 'c', 'd'].map(taints))).filter((list) =>
        list.includes('not-ready:NoExecute'),
      ).length;
    // A small zone in which most nodes have failed.
    const begun = await evicting();
    expect(begun).toBeLessThan(4);
    await pass(60, ['up', 'a', 'b', 'c', 'd']);
    expect(await evicting()).toBe(begun);
    const labels = { 'node.kubernetes.io/exclude-disruption': '' };
    for (const name of ['c', 'd'])
      await nodeClient().patch(name, 'application/merge-patch+json', { metadata: { labels } });
    await pass(60, ['up', 'a', 'b', 'c', 'd']);
    expect(await evicting()).toBe(4);
  });

  test('restarts each node’s grace period after a restart', async () => {
    const stop = await start();
    await addNode('a');
    await addNode('b');
    await pass(40, ['b']);
    await stop();
    await start();
    await pass(40, ['b']);
    expect((await conditions('a'))['Ready']).toBe('True r');
    await pass(20, ['b']);
    expect((await conditions('a'))['Ready']).toBe('Unknown NodeStatusUnknown');
  });
});
