import { afterEach, describe, expect, test } from 'vitest';
import { events, nodes, type Service, services } from '#api/groups/core/v1/index.ts';
import { ipAddresses } from '#api/groups/networking/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { IpPool } from '#machinery/net/ip-pool.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { LoadBalancerPoolController } from './index.ts';

const MERGE = 'application/merge-patch+json';
const SMALL = '10.0.0.240-10.0.0.241,fd00::/120';
const clusters: TestCluster[] = [];

async function start(pool = SMALL, copies = 1): Promise<TestCluster> {
  const cluster = await startTestCluster();
  clusters.push(cluster);
  for (let copy = 0; copy < copies; copy++) await run(cluster, pool);
  return cluster;
}
const run = (cluster: TestCluster, pool = SMALL): Promise<() => Promise<void>> =>
  cluster.run((config) => new LoadBalancerPoolController({ ...config, pool: IpPool.parse(pool) }));
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop();
});

const inDefault = ({ client }: TestCluster) => client.resource(services).namespace('default');
const balanced = (name: string, spec: New<Service['spec']> = {}): New<Service> => ({
  metadata: { name, namespace: 'default' },
  spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
});
async function ipsOf(cluster: TestCluster, ...names: string[]): Promise<readonly string[]> {
  await cluster.clock.advance('2s');
  const all = await Promise.all(names.map((name) => inDefault(cluster).get(name)));
  return all.map(({ status }) => (status.loadBalancer.ingress ?? []).map(({ ip }) => ip).join(' '));
}
const claimed = async ({ client }: TestCluster): Promise<readonly string[]> =>
  (await client.resource(ipAddresses).list()).items
    .filter(
      ({ metadata }) =>
        metadata.labels?.['ipaddress.kubernetes.io/managed-by'] === 'load-balancer-pool-controller',
    )
    .map(({ metadata, spec }) => `${metadata.name} ${spec.parentRef?.name}`);
const warnings = async ({ client }: TestCluster, name: string): Promise<readonly string[]> =>
  (await client.resource(events).namespace('default').list()).items
    .filter(({ involvedObject, type }) => involvedObject.name === name && type === 'Warning')
    .map(
      ({ reason, message }) =>
        `${reason}: ${message?.replace('Error syncing load balancer: failed to ensure load balancer: ', '')}`,
    );

describe('addresses', () => {
  test('each service has its own address, even if ports differ', async () => {
    const cluster = await start();
    for (const name of ['a', 'b']) await inDefault(cluster).create(balanced(name));
    expect((await ipsOf(cluster, 'a', 'b')).toSorted()).toEqual(['10.0.0.240', '10.0.0.241']);
    const { status } = await inDefault(cluster).get('a');
    expect(status.loadBalancer.ingress).toMatchObject([
      { ipMode: 'VIP', ports: [{ port: 80, protocol: 'TCP' }] },
    ]);
    expect(await claimed(cluster)).toHaveLength(2);
  });

  test('an exhausted pool is reported once; a released address is used again', async () => {
    const cluster = await start();
    for (const name of ['a', 'b', 'late']) await inDefault(cluster).create(balanced(name));
    expect((await ipsOf(cluster, 'a', 'b', 'late')).at(-1)).toBe('');
    await inDefault(cluster).patch('late', MERGE, { metadata: { labels: { x: 'y' } } });
    await ipsOf(cluster, 'late');
    expect(await warnings(cluster, 'late')).toEqual([
      'SyncLoadBalancerFailed: the pool 10.0.0.240-10.0.0.241,fd00::-fd00::ff has no free IPv4 address',
    ]);
    await inDefault(cluster).delete('a');
    expect(await ipsOf(cluster, 'late')).toEqual(['10.0.0.240']);
    await inDefault(cluster).patch('b', MERGE, { spec: { type: 'NodePort' } });
    expect(await ipsOf(cluster, 'b')).toEqual(['']);
    expect(await claimed(cluster)).toEqual(['10.0.0.240 late']);
  });

  test('a service may request an address; it waits for an address in use, and gets no other', async () => {
    const cluster = await start();
    await inDefault(cluster).create(balanced('a', { loadBalancerIP: '10.0.0.241' }));
    await inDefault(cluster).create(balanced('same', { loadBalancerIP: '10.0.0.241' }));
    await inDefault(cluster).create(balanced('outside', { loadBalancerIP: '10.9.9.9' }));
    expect(await ipsOf(cluster, 'a', 'same', 'outside')).toEqual(['10.0.0.241', '', '']);
    expect(await warnings(cluster, 'same')).toEqual([
      'SyncLoadBalancerFailed: the address 10.0.0.241 is in use',
    ]);
    expect(await warnings(cluster, 'outside')).toEqual([
      'SyncLoadBalancerFailed: the address 10.9.9.9 is not in the pool 10.0.0.240-10.0.0.241,fd00::-fd00::ff',
    ]);
    await inDefault(cluster).delete('a');
    expect(await ipsOf(cluster, 'same')).toEqual(['10.0.0.241']);
  });

  test('services of another class are left alone', async () => {
    const cluster = await start();
    await inDefault(cluster).create(balanced('classy', { loadBalancerClass: 'example.com/other' }));
    const ingress = [{ ip: '10.0.0.240', ipMode: 'VIP' }];
    await inDefault(cluster).patch(
      'classy',
      MERGE,
      { status: { loadBalancer: { ingress } } },
      { subresource: 'status' },
    );
    await inDefault(cluster).create(balanced('a'));
    expect(await ipsOf(cluster, 'classy', 'a')).toEqual(['10.0.0.240', '10.0.0.241']);
  });

  test('addresses of nodes and external addresses of services are not allocated', async () => {
    const cluster = await start('10.0.0.240-10.0.0.242');
    await cluster.client.resource(nodes).create({ metadata: { name: 'n' } });
    const status = { addresses: [{ type: 'InternalIP', address: '10.0.0.240' }] };
    await cluster.client.resource(nodes).patch('n', MERGE, { status }, { subresource: 'status' });
    await inDefault(cluster).create({
      metadata: { name: 'x' },
      spec: { ports: [{ port: 1 }], externalIPs: ['10.0.0.241'] },
    });
    await inDefault(cluster).create(balanced('a'));
    expect(await ipsOf(cluster, 'a')).toEqual(['10.0.0.242']);
  });

  test('a family that the pool lacks is reported; the other family works', async () => {
    const cluster = await start('fd00::/120');
    await inDefault(cluster).create(balanced('a'));
    expect(await ipsOf(cluster, 'a')).toEqual(['']);
    expect(await warnings(cluster, 'a')).toEqual([
      'SyncLoadBalancerFailed: the pool fd00::-fd00::ff has no IPv4 addresses',
    ]);
  });
});

describe('allocations', () => {
  test('survive a restart, with and without their claims', async () => {
    const cluster = await startTestCluster();
    clusters.push(cluster);
    const stop = await run(cluster);
    for (const name of ['a', 'b']) await inDefault(cluster).create(balanced(name));
    const before = await ipsOf(cluster, 'a', 'b');
    await stop();
    await cluster.client.resource(ipAddresses).delete('10.0.0.240');
    await inDefault(cluster).create(balanced('c'));
    await run(cluster);
    expect(await ipsOf(cluster, 'a', 'b', 'c')).toEqual([...before, '']);
    expect(await claimed(cluster)).toHaveLength(2);
  });

  test('of a service that was deleted while no controller ran are released', async () => {
    const cluster = await startTestCluster();
    clusters.push(cluster);
    const stop = await run(cluster);
    await inDefault(cluster).create(balanced('a'));
    await ipsOf(cluster, 'a');
    await stop();
    await inDefault(cluster).delete('a');
    await run(cluster);
    await cluster.clock.advance('2s');
    expect(await claimed(cluster)).toEqual([]);
  });

  test('two controllers never allocate one address to two services', async () => {
    const cluster = await start('10.0.0.240-10.0.0.249', 2);
    const names = Array.from({ length: 10 }, (_, index) => `s${index}`);
    await Promise.all(names.map((name) => inDefault(cluster).create(balanced(name))));
    const ips = await ipsOf(cluster, ...names);
    expect(new Set(ips).size).toBe(10);
    expect(await claimed(cluster)).toHaveLength(10);
  });

  test('of a removed pool are replaced', async () => {
    const cluster = await startTestCluster();
    clusters.push(cluster);
    const stop = await run(cluster, '10.1.0.0/30');
    await inDefault(cluster).create(balanced('a'));
    expect(await ipsOf(cluster, 'a')).toEqual(['10.1.0.0']);
    await stop();
    await run(cluster, SMALL);
    expect(await ipsOf(cluster, 'a')).toEqual(['10.0.0.240']);
    expect(await claimed(cluster)).toEqual(['10.0.0.240 a']);
  });
});

test('reach the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new LoadBalancerPoolController({ ...config, pool: IpPool.parse(SMALL) }),
    steps: [
      async (it) => {
        await inDefault(it).create(balanced('a'));
        await it.clock.advance('1s');
        await inDefault(it).create(balanced('b'));
      },
      async (it) => {
        await inDefault(it).patch('a', MERGE, { spec: { type: 'NodePort' } });
      },
    ],
    outcome: [services, ipAddresses],
    rest: '1m',
  });
  expect(writes).toBeGreaterThan(3);
  const plain = (end: readonly unknown[]): unknown =>
    JSON.parse(
      JSON.stringify(end, (key, value: unknown) =>
        ['clusterIP', 'clusterIPs', 'nodePort'].includes(key) ? undefined : value,
      ),
    );
  const ours = (end: readonly unknown[]): unknown =>
    (plain(end) as { metadata: { labels?: Record<string, string> } }[]).filter(
      ({ metadata }) =>
        metadata.labels?.['ipaddress.kubernetes.io/managed-by'] !== 'ipallocator.k8s.io',
    );
  for (const [what, end] of disturbed) expect(ours(end), what).toEqual(ours(outcome));
});
