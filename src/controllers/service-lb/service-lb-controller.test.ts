import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { events, nodes, type Service, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { ServiceLbController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.run((config) => new ServiceLbController(config));
});
afterEach(() => cluster.stop());

const MERGE = 'application/merge-patch+json';
const inDefault = ({ client } = cluster) => client.resource(services).namespace('default');

async function addNode(
  { client }: TestCluster,
  name: string,
  addresses: Record<string, string>,
  labels = {},
): Promise<void> {
  await client.resource(nodes).create({ metadata: { name, labels } });
  const status = {
    addresses: Object.entries(addresses).map(([address, type]) => ({ type, address })),
    conditions: [{ type: 'Ready', status: 'True' }],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
  };
  await client.resource(nodes).patch(name, MERGE, { status }, { subresource: 'status' });
}

const balanced = (name: string, port: number, spec: New<Service['spec']> = {}): New<Service> => ({
  metadata: { name, namespace: 'default' },
  spec: { type: 'LoadBalancer', ports: [{ port }], ...spec },
});
async function ingressOf(name: string): Promise<string> {
  await cluster.clock.advance('1s');
  const { status } = await inDefault().get(name);
  return (status.loadBalancer.ingress ?? []).map(({ ip, ipMode }) => `${ip} ${ipMode}`).join(', ');
}
const eventsOf = async (name: string) =>
  (await cluster.client.resource(events).namespace('default').list()).items
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

describe('ServiceLbController', () => {
  test('assigns addresses of nodes, and records events', async () => {
    await addNode(cluster, 'a', { '10.0.0.1': 'InternalIP', a: 'Hostname' });
    await addNode(cluster, 'b', { '10.0.0.2': 'InternalIP', '203.0.113.2': 'ExternalIP' });
    await addNode(
      cluster,
      'c',
      { '10.0.0.3': 'InternalIP' },
      { 'node.kubernetes.io/exclude-from-external-load-balancers': '' },
    );
    await inDefault().create(balanced('web', 80));
    expect(await ingressOf('web')).toBe('10.0.0.1 VIP, 203.0.113.2 VIP');
    // Events within one millisecond have no defined order.
    expect((await eventsOf('web')).sort()).toEqual([
      'Normal EnsuredLoadBalancer: Ensured load balancer',
      'Normal EnsuringLoadBalancer: Ensuring load balancer',
    ]);
  });

  test('removes the addresses of lost nodes, and assigns them again later', async () => {
    await inDefault().create(balanced('web', 80));
    expect(await ingressOf('web')).toBe('');
    expect(await eventsOf('web')).toEqual([
      'Warning UnAvailableLoadBalancer: There are no available nodes for LoadBalancer',
    ]);
    await addNode(cluster, 'a', { '10.0.0.1': 'InternalIP' });
    await addNode(cluster, 'b', { '10.0.0.2': 'InternalIP' });
    expect(await ingressOf('web')).toBe('10.0.0.1 VIP, 10.0.0.2 VIP');
    const conditions = [{ type: 'Ready', status: 'Unknown' }];
    await cluster.client
      .resource(nodes)
      .patch('a', MERGE, { status: { conditions } }, { subresource: 'status' });
    expect(await ingressOf('web')).toBe('10.0.0.2 VIP');
    await cluster.client.resource(nodes).delete('b');
    expect(await ingressOf('web')).toBe('');
  });

  test('a port of an address serves one service; ports of the kubelet are reserved', async () => {
    await addNode(cluster, 'a', { '10.0.0.1': 'InternalIP' });
    await inDefault().create(balanced('web', 80));
    await inDefault().create(balanced('other', 81));
    expect(await ingressOf('other')).toBe('10.0.0.1 VIP');
    await inDefault().create(balanced('late', 80));
    await inDefault().create(balanced('kubelet', 10250));
    expect([await ingressOf('late'), await ingressOf('kubelet')]).toEqual(['', '']);
    expect(await eventsOf('late')).toEqual([
      'Warning SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: ' +
        'port TCP/80 is in use at every address',
    ]);
    await inDefault().delete('web');
    expect(await ingressOf('late')).toBe('10.0.0.1 VIP');
  });

  test('services of another class or type: left alone, or released', async () => {
    await addNode(cluster, 'a', { '10.0.0.1': 'InternalIP' });
    await inDefault().create(balanced('web', 80));
    await inDefault().create(balanced('classy', 81, { loadBalancerClass: 'example.com/other' }));
    const ingress = [{ ip: '192.0.2.1', ipMode: 'VIP' }];
    await inDefault().patch(
      'classy',
      MERGE,
      { status: { loadBalancer: { ingress } } },
      { subresource: 'status' },
    );
    expect([await ingressOf('web'), await ingressOf('classy')]).toEqual([
      '10.0.0.1 VIP',
      '192.0.2.1 VIP',
    ]);
    await inDefault().patch('web', MERGE, { spec: { type: 'ClusterIP' } });
    expect([await ingressOf('web'), await ingressOf('classy')]).toEqual(['', '192.0.2.1 VIP']);
  });

  test('a service may request one address', async () => {
    await addNode(cluster, 'a', { '10.0.0.1': 'InternalIP' });
    await addNode(cluster, 'b', { '10.0.0.2': 'InternalIP' });
    await inDefault().create(balanced('web', 80, { loadBalancerIP: '10.0.0.2' }));
    await inDefault().create(balanced('nowhere', 80, { loadBalancerIP: '10.9.9.9' }));
    expect([await ingressOf('web'), await ingressOf('nowhere')]).toEqual(['10.0.0.2 VIP', '']);
    expect(await eventsOf('nowhere')).toEqual([
      'Warning SyncLoadBalancerFailed: Error syncing load balancer: failed to ensure load balancer: ' +
        'no available node has the address 10.9.9.9',
    ]);
  });

  test('with externalTrafficPolicy Local: only nodes with an endpoint', async () => {
    await addNode(cluster, 'a', { '10.0.0.1': 'InternalIP' });
    await addNode(cluster, 'b', { '10.0.0.2': 'InternalIP' });
    await inDefault().create(balanced('web', 80, { externalTrafficPolicy: 'Local' }));
    expect(await ingressOf('web')).toBe('');
    await cluster.client
      .resource(endpointSlices)
      .namespace('default')
      .create({
        metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        endpoints: [
          { addresses: ['10.1.0.1'], conditions: { ready: true }, nodeName: 'b' },
          { addresses: ['10.1.0.2'], conditions: { ready: false }, nodeName: 'a' },
        ],
      });
    expect(await ingressOf('web')).toBe('10.0.0.2 VIP');
  });
});

test('reach the same outcome after every fault', async () => {
  const {
    writes,
    events: seen,
    outcome,
    disturbed,
  } = await disturb({
    subject: (config) => new ServiceLbController(config),
    steps: [
      async (it) => {
        await addNode(it, 'a', { '10.0.0.1': 'InternalIP' });
        await inDefault(it).create(balanced('web', 80));
        await inDefault(it).create(balanced('other', 81));
      },
      async (it) => {
        await inDefault(it).patch('web', MERGE, { spec: { type: 'NodePort' } });
        await inDefault(it).create(balanced('next', 80));
      },
    ],
    outcome: [services],
    rest: '1m',
  });
  expect([writes, seen].every((count) => count > 2)).toBe(true);
  // Cluster IPs and node ports are random.
  const plain = (end: readonly unknown[]): unknown =>
    JSON.parse(
      JSON.stringify(end, (key, value: unknown) =>
        ['clusterIP', 'clusterIPs', 'nodePort'].includes(key) ? undefined : value,
      ),
    );
  for (const [what, end] of disturbed) expect(plain(end), what).toEqual(plain(outcome));
});
