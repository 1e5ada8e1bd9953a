import { leases } from '#api/groups/coordination/v1/index.ts';
import { nodes } from '#api/groups/core/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import { afterEach, expect, test, vi } from 'vitest';
import type { KubeletConfig } from '../config.ts';
import { Kubelet } from '../kubelet.ts';
import { RenewalBatches } from '../node/renewal-batches.ts';
import { NODE_NAME, startHarness, type Harness } from '../testing/harness.ts';
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

test('reports the node as a kubelet that starts again does, and leaves its pods alone', async () => {
  const dormantNode = await stoppedNode();
  const plainNode = await stoppedNode();
  const dormant = new DormantKubelet({ kubelet: configOf(dormantNode), onWork: () => undefined });
  cleanup.push(() => dormant.stop());
  const before = await dormantNode.getPod('web');
  await dormant.register(await nodeOf(dormantNode));
  const plain = await plainNode.restartKubelet();
  cleanup.push(() => plain.stop());
  expect(await dormant.isAtRest([before])).toBe(true);
  for (const side of [dormantNode, plainNode]) await side.clock.advance('6m');

  expect(await dormantNode.eventsOf(NODE_NAME)).toEqual(await plainNode.eventsOf(NODE_NAME));
  const [mine, others] = [await nodeOf(dormantNode), await nodeOf(plainNode)];
  expect(mine.status).toEqual(others.status);
  expect(mine.metadata.labels).toEqual(others.metadata.labels);
  expect(await renewedAt(dormantNode)).toBe(await renewedAt(plainNode));
  expect(await dormantNode.getPod('web')).toEqual(before);
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

test('hands over when a Lease is due that is renewed together with others', async () => {
  const harness = await stoppedNode();
  const { clock } = harness;
  const renewals: number[] = [];
  const heartbeatKeeper = new RenewalBatches({
    clock,
    renew: ({ renewedMs }) => {
      renewals.push(renewedMs);
      return Promise.resolve([]);
    },
    tickMs: 250,
  });
  const dormant = new DormantKubelet({
    kubelet: { ...configOf(harness), heartbeatKeeper, heartbeatTickMs: 250 },
    onWork: () => undefined,
  });
  await dormant.register(await nodeOf(harness));
  await clock.advance('34s');
  const last = renewals.at(-1) ?? 0;
  const { config } = await dormant.handOver();
  const kubelet = new Kubelet(config);
  cleanup.push(() => kubelet.stop());
  await kubelet.start();
  await clock.advance('10s');
  expect(await renewedAt(harness)).toBe(last + 10_000);
});
