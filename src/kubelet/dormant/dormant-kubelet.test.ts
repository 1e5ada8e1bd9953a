import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes } from '#api/groups/core/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import { afterEach, expect, test, vi } from 'vitest';
import type { KubeletConfig } from '../config.ts';
import { Kubelet } from '../kubelet.ts';
import { HeartbeatBatches } from '../node/heartbeat-batches.ts';
import type { PortOpener } from '../server/listeners.ts';
import { NODE_NAME, startHarness, type Harness } from '../testing/harness.ts';
import type { NodeStatus } from '../types.ts';
import { DormantKubelet } from './dormant-kubelet.ts';

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of cleanup.splice(0).reverse()) await step();
});

const isRunning = (pod: { status: { phase?: string } }): boolean => pod.status.phase === 'Running';

/** A node with a pod that runs, whose kubelet has stopped. */
async function stoppedNode(): Promise<Harness> {
  const harness = await startHarness();
  cleanup.push(() => harness.stop());
  await harness.createPod('web', { containers: [{ name: 'main', image: 'pause' }] });
  await harness.waitForPod('web', isRunning);
  await harness.clock.advance('15s');
  await harness.kubelet.stop();
  return harness;
}

function configOf({ client, clock, runtime, server }: Harness): KubeletConfig {
  return {
    client,
    runtime,
    clock,
    random: new SeededRandom('dormant'),
    logger: server.logger,
    nodeName: NODE_NAME,
    hostFiles: false,
    podNetwork: false,
    podLogsDir: '/nonexistent/pod-logs',
    addresses: [
      { type: 'InternalIP', address: '192.168.0.5' },
      { type: 'Hostname', address: NODE_NAME },
    ],
    capacity: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' },
  };
}

async function nodeOf({ client }: Harness) {
  return client.resource(nodes).get(NODE_NAME);
}

async function renewedAt({ client }: Harness): Promise<number> {
  const lease = await client.resource(leases).namespace('kube-node-lease').get(NODE_NAME);
  return Date.parse(lease.spec?.renewTime ?? '');
}

const CONDITION_EVENT = /^NodeHas/;

function withoutHeartbeats({ status }: { readonly status: NodeStatus }): NodeStatus {
  const conditions = (status.conditions ?? []).map((condition) => ({
    ...condition,
    lastHeartbeatTime: null,
  }));
  return { ...status, conditions };
}

test('reports a node that is as it was with one event, and leaves its pods alone', async () => {
  const dormantNode = await stoppedNode();
  const plainNode = await stoppedNode();
  const dormant = new DormantKubelet({ kubelet: configOf(dormantNode), onWork: () => undefined });
  cleanup.push(() => dormant.stop());
  const before = await dormantNode.getPod('web');
  const known = await nodeOf(dormantNode);
  const eventsBefore = await dormantNode.eventsOf(NODE_NAME);
  await dormant.register(known);
  const plain = await plainNode.restartKubelet();
  cleanup.push(() => plain.stop());
  expect(await dormant.isAtRest([before])).toBe(true);
  for (const side of [dormantNode, plainNode]) await side.clock.settle();
  expect((await nodeOf(dormantNode)).metadata.resourceVersion).toBe(known.metadata.resourceVersion);
  for (const side of [dormantNode, plainNode]) await side.clock.advance('6m');

  const eventsOfRestart = (await dormantNode.eventsOf(NODE_NAME)).slice(eventsBefore.length);
  const plainEvents = (await plainNode.eventsOf(NODE_NAME)).slice(eventsBefore.length);
  expect(eventsOfRestart).toEqual(['Starting: Starting kubelet.']);
  expect(plainEvents.filter((event) => !CONDITION_EVENT.test(event))).toEqual(eventsOfRestart);
  const [mine, others] = [await nodeOf(dormantNode), await nodeOf(plainNode)];
  expect(withoutHeartbeats(mine)).toEqual(withoutHeartbeats(others));
  const heartbeat = mine.status.conditions?.[0]?.lastHeartbeatTime ?? '';
  expect(dormantNode.clock.now() - Date.parse(heartbeat)).toBeLessThanOrEqual(6 * 60_000);
  expect(mine.metadata.labels).toEqual(others.metadata.labels);
  expect(await renewedAt(dormantNode)).toBe(await renewedAt(plainNode));
  expect(await dormantNode.getPod('web')).toEqual(before);
});

test('reports a node at once that is not as it was', async () => {
  const harness = await stoppedNode();
  const { clock } = harness;
  const known = await nodeOf(harness);
  const eventsBefore = await harness.eventsOf(NODE_NAME);
  const config = { ...configOf(harness), kubeletVersion: 'v1.36.99' };
  const dormant = new DormantKubelet({ kubelet: config, onWork: () => undefined });
  cleanup.push(() => dormant.stop());
  const underPressure = (known.status.conditions ?? []).map((condition) =>
    condition.type === 'DiskPressure' ? { ...condition, status: 'True' } : condition,
  );
  await dormant.register({ ...known, status: { ...known.status, conditions: underPressure } });
  const { status } = await nodeOf(harness);
  expect(status.nodeInfo?.kubeletVersion).toBe('v1.36.99');
  await clock.settle();
  expect((await harness.eventsOf(NODE_NAME)).slice(eventsBefore.length)).toEqual([
    'Starting: Starting kubelet.',
    `NodeHasNoDiskPressure: Node ${NODE_NAME} status is now: NodeHasNoDiskPressure`,
  ]);
});

test('opens the port that the node has had', async () => {
  const harness = await stoppedNode();
  const known = await nodeOf(harness);
  const asked: number[] = [];
  const listeners: PortOpener = {
    host: undefined,
    open: (port) => {
      asked.push(port);
      return Promise.resolve({ port: 33_333, close: () => Promise.resolve() });
    },
  };
  const dormant = new DormantKubelet({
    kubelet: { ...configOf(harness), server: { listeners, port: 0 } },
    onWork: () => undefined,
  });
  cleanup.push(() => dormant.stop());
  const daemonEndpoints = { kubeletEndpoint: { Port: 34_567 } };
  await dormant.register({ ...known, status: { ...known.status, daemonEndpoints } });
  expect(asked).toEqual([34_567]);
  // Another process had it.
  expect((await nodeOf(harness)).status.daemonEndpoints?.kubeletEndpoint?.Port).toBe(33_333);
});

test('registers a node that is not there', async () => {
  const clock = new VirtualClock();
  const harness = await startHarness();
  cleanup.push(() => harness.stop());
  const config = {
    ...configOf(harness),
    clock: harness.clock,
    nodeName: 'another',
    runtime: createSimulatedRuntime({ clock, random: new SeededRandom('another') }),
  };
  const dormant = new DormantKubelet({ kubelet: config, onWork: () => undefined });
  cleanup.push(() => dormant.stop());
  await dormant.register();
  const { status } = await harness.client.resource(nodes).get('another');
  expect(status.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
  expect(await dormant.isAtRest([])).toBe(true);
});

test('asks the runtime for its status only after a change', async () => {
  const harness = await startHarness();
  cleanup.push(() => harness.stop());
  const runtime = createSimulatedRuntime({
    clock: harness.clock,
    random: new SeededRandom('another'),
  });
  const asked = vi.spyOn(runtime.runtime, 'status');
  let machine = ['192.168.0.5'];
  const { addresses: _addresses, ...config } = configOf(harness);
  const dormant = new DormantKubelet({
    kubelet: { ...config, nodeName: 'another', runtime, readAddresses: () => machine },
    onWork: () => undefined,
  });
  cleanup.push(() => dormant.stop());
  await dormant.register();
  const status = async () => (await harness.client.resource(nodes).get('another')).status;
  await harness.clock.advance('30s');
  const before = asked.mock.calls.length;
  await harness.clock.advance('2m');
  expect(asked.mock.calls.length).toBe(before);

  await runtime.images.pullImage({ image: 'busybox:1.36' });
  await harness.clock.advance('10s');
  expect((await status()).images?.flatMap(({ names }) => names)).toContain(
    'docker.io/library/busybox:1.36',
  );
  machine = ['192.168.0.6'];
  await harness.clock.advance('10s');
  expect((await status()).addresses?.[0]?.address).toBe('192.168.0.6');

  // An unchanged status is reported every five minutes.
  const reported = async () =>
    (await status()).conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
  const last = await reported();
  await harness.clock.advance('5m10s');
  expect(Date.parse((await reported()) ?? '') - Date.parse(last ?? '')).toBeGreaterThan(290_000);
});

test('sees a container that ends, and hands over silently', async () => {
  const harness = await stoppedNode();
  let work = 0;
  const dormant = new DormantKubelet({ kubelet: configOf(harness), onWork: () => work++ });
  await dormant.register(await nodeOf(harness));
  expect(await dormant.isAtRest([await harness.getPod('web')])).toBe(true);
  await harness.clock.advance('1m');
  expect(work).toBe(0);
  const { runtime } = harness.runtime;
  const [container] = await runtime.listContainers({});
  await runtime.stopContainer(container?.id ?? '', 0);
  await harness.clock.settle();
  expect(work).toBe(1);

  const events = await harness.eventsOf(NODE_NAME);
  const kubelet = new Kubelet((await dormant.handOver()).config);
  cleanup.push(() => kubelet.stop());
  await kubelet.start();
  await harness.waitForPod(
    'web',
    ({ status }) => status.containerStatuses?.[0]?.restartCount === 1 && isRunning({ status }),
  );
  expect(await harness.eventsOf(NODE_NAME)).toEqual(events);
});

test('leaves all renewals of a known Lease to the call for several nodes', async () => {
  const harness = await stoppedNode();
  const { clock } = harness;
  const renewals: number[] = [];
  const heartbeatKeeper = new HeartbeatBatches({
    clock,
    make: ({ kind, atMs }) => {
      if (kind === 'lease') renewals.push(atMs);
      return Promise.resolve([]);
    },
    tickMs: 250,
  });
  const before = await renewedAt(harness);
  const dormant = new DormantKubelet({
    kubelet: { ...configOf(harness), heartbeatKeeper, heartbeatTickMs: 250 },
    onWork: () => undefined,
  });
  await dormant.register(await nodeOf(harness));
  await clock.advance('10s');
  expect(renewals).toHaveLength(1);
  await clock.advance('24s');
  const { config } = await dormant.handOver();
  const kubelet = new Kubelet(config);
  cleanup.push(() => kubelet.stop());
  await kubelet.start();
  await clock.advance('16s');
  expect(renewals).toHaveLength(5);
  expect(renewals.map((at) => at - renewals[0]!)).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
  // No kubelet has made a request of its own.
  expect(await renewedAt(harness)).toBe(before);
});

test('makes the first renewal itself if the call refuses it', async () => {
  const harness = await stoppedNode();
  const { clock, client } = harness;
  const leaseClient = client.resource(leases).namespace('kube-node-lease');
  await leaseClient.delete(NODE_NAME);
  const heartbeatKeeper = new HeartbeatBatches({
    clock,
    make: ({ nodes: refused }) => Promise.resolve(refused),
    tickMs: 250,
  });
  const dormant = new DormantKubelet({
    kubelet: { ...configOf(harness), heartbeatKeeper, heartbeatTickMs: 250 },
    onWork: () => undefined,
  });
  cleanup.push(() => dormant.stop());
  await dormant.register(await nodeOf(harness));
  await clock.advance('10s');
  expect(clock.now() - (await renewedAt(harness))).toBeLessThan(10_000);
});
