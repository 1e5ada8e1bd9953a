// The agent with an API server, with the rights of a node.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodes } from '#api/groups/core/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { recordingLogger, type RecordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { runPodNetwork } from './agent.ts';
import { podNetworkNames } from './names.ts';
import { grantPodNetworkPermissions } from './permissions.ts';
import { FakeSystem, fakeLink } from './testing/fake-system.ts';

const server = serverPerTest();
let dir: string;
let system: FakeSystem;
let logger: RecordingLogger;
let abort: AbortController;
let running: Promise<void>;
let nudges: number;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'cox-network-'));
  system = new FakeSystem();
  logger = recordingLogger();
  abort = new AbortController();
  nudges = 0;
});
afterEach(async () => {
  abort.abort(new Error('over'));
  await running;
  rmSync(dir, { recursive: true });
});

function start(): void {
  running = runPodNetwork(
    {
      client: server.clientOf({
        name: 'system:node:self',
        groups: ['system:nodes', 'system:authenticated'],
      }),
      nodeName: 'self',
      settings: {
        mode: 'auto',
        names: podNetworkNames('/data'),
        vxlanId: 1,
        vxlanPort: 8472,
        clusterCidrs: ['10.244.0.0/16'],
        serviceCidrs: [],
      },
      cni: { confDir: dir, dataDir: '/data', hostPorts: false },
      clock: server.clock,
      random: new SeededRandom('network'),
      logger,
      system,
      onChange: () => nudges++,
    },
    abort.signal,
  );
}

async function create(name: string, address: string, podCIDR?: string): Promise<void> {
  await server.client.resource(nodes).create({
    metadata: { name },
    spec: podCIDR === undefined ? {} : { podCIDR, podCIDRs: [podCIDR] },
    status: { addresses: [{ type: 'InternalIP', address }] },
  });
}
const condition = async () =>
  (await server.client.resource(nodes).get('self')).status.conditions?.find(
    ({ type }) => type === 'NetworkUnavailable',
  );

/**
 * Advances the clock until the condition holds. Requests and file operations need turns of the
 * event loop, too.
 */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 5000; turn++) {
    if (await holds()) return;
    await server.clock.advance(20);
    await new Promise(setImmediate);
  }
  throw new Error(`it never came to it: ${JSON.stringify(logger.records.slice(-5))}`);
}

test('a node without the right to read Nodes waits, and reports it', async () => {
  await create('self', '10.0.0.1', '10.244.1.0/24');
  start();
  await until(() =>
    logger.records.some(({ values }) => String(values['hint']).includes('--print-permissions')),
  );
  expect(await condition()).toBeUndefined();
  await grantPodNetworkPermissions(server.client);
  await grantPodNetworkPermissions(server.client);
  await until(async () => (await condition())?.status === 'False');
});

test('the condition is that of the route controller, and is updated when it changes', async () => {
  await grantPodNetworkPermissions(server.client);
  await create('self', '10.0.0.1');
  start();
  await until(async () => (await condition()) !== undefined);
  expect(await condition()).toMatchObject({
    status: 'True',
    reason: 'NoRouteCreated',
    message:
      'RouteController failed to create a route: the node has no usable range of pod addresses',
  });
  const patch = { spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] } };
  await server.client
    .resource(nodes)
    .patch('self', 'application/strategic-merge-patch+json', patch);
  await until(async () => (await condition())?.status === 'False');
  expect(await condition()).toMatchObject({
    reason: 'RouteCreated',
    message: 'RouteController created a route',
  });
  expect(nudges).toBe(1);
});

test('links are watched once there are other nodes, and failures are retried', async () => {
  await grantPodNetworkPermissions(server.client);
  await create('self', '10.0.0.1', '10.244.1.0/24');
  start();
  await until(async () => (await condition())?.status === 'False');
  expect(system.watched).toBe(false);
  system.failures.apply.push(new Error('busy'), new Error('busy'));
  await create('near', '10.0.0.2', '10.244.2.0/24');
  await until(() => system.applied.length === 1);
  expect(system.watched).toBe(true);
  await until(async () => (await condition())?.status === 'False');
  system.change({ links: [fakeLink('eth0', '10.0.0.1/24', { isUp: false })] });
  await until(() =>
    logger.records.some(({ values }) =>
      String(values['problem']).endsWith('the link eth0 is down'),
    ),
  );
  await server.client.resource(nodes).delete('near');
  const before = system.reads;
  await server.clock.advance(10_000);
  expect(system.reads - before).toBeLessThan(5);
});

test('a heartbeat of a node causes no pass', async () => {
  await grantPodNetworkPermissions(server.client);
  await create('self', '10.0.0.1', '10.244.1.0/24');
  await create('near', '10.0.0.2', '10.244.2.0/24');
  start();
  await until(async () => (await condition())?.status === 'False');
  const synced = () =>
    logger.records.filter(({ message }) => message === 'pod network: synced').length;
  await server.clock.advance(1000);
  const before = synced();
  const status = {
    conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }],
  };
  await server.client
    .resource(nodes)
    .patch('near', 'application/strategic-merge-patch+json', { status }, { subresource: 'status' });
  await server.clock.advance(5000);
  expect(synced()).toBe(before);
});
