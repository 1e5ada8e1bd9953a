import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { events, nodes } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { type NodeIpamConfig, NodeIpamController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const start = (change: Partial<NodeIpamConfig> = {}) =>
  cluster.run(
    (config) => new NodeIpamController({ ...config, clusterCidrs: ['10.244.0.0/22'], ...change }),
  );
const add = (name: string, spec = {}) =>
  cluster.client.resource(nodes).create({ metadata: { name }, spec });
const ranges = async () =>
  Object.fromEntries(
    (await cluster.client.resource(nodes).list()).items.map(({ metadata, spec }) => [
      metadata.name,
      spec.podCIDRs?.join(' '),
    ]),
  );

describe('NodeIpamController', () => {
  test('allocates a unique range to every node, also across a restart', async () => {
    await add('a');
    await add('taken', { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] });
    const stop = await start();
    expect(await ranges()).toEqual({ a: '10.244.1.0/24', taken: '10.244.0.0/24' });
    expect((await cluster.client.resource(nodes).get('a')).spec.podCIDR).toBe('10.244.1.0/24');
    await stop();
    await start();
    await add('b');
    await cluster.clock.settle();
    expect((await ranges())['b']).toBe('10.244.2.0/24');
  });

  test('allocates one range of each family, outside of service ranges', async () => {
    await start({ clusterCidrs: ['10.0.0.0/16', 'fd00::/56'], serviceCidrs: ['10.0.0.0/20'] });
    await add('a');
    await cluster.clock.settle();
    expect(await ranges()).toEqual({ a: '10.0.16.0/24 fd00::/64' });
  });

  test('reports an exhausted set, and allocates a range as soon as one is released', async () => {
    await start({ nodeMaskSizeIPv4: 23 });
    for (const name of ['a', 'b', 'c']) await add(name);
    await cluster.clock.settle();
    expect((await ranges())['c']).toBeUndefined();
    const { items } = await cluster.client.resource(events).namespace('default').list();
    expect(items.map(({ reason, message }) => [reason, message])).toEqual([
      ['CIDRNotAvailable', 'Node c status is now: CIDRNotAvailable'],
    ]);
    await cluster.client.resource(nodes).delete('a');
    await cluster.clock.settle();
    expect((await ranges())['c']).toBe('10.244.0.0/23');
  });

  test('releases a range whose write failed', async () => {
    await start({ nodeMaskSizeIPv4: 22 });
    cluster.faults.fail('PATCH', /nodes/, () => apierrors.internalError('no'));
    await add('a');
    await cluster.clock.advance('1s');
    expect(await ranges()).toEqual({ a: '10.244.0.0/22' });
  });
});
