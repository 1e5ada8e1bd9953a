import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  events,
  nodes,
  type Pod,
  pods,
  type Service,
  services,
} from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { EndpointSliceController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const MERGE = 'application/merge-patch+json';
const inDefault = () => cluster.client.resource(services).namespace('default');
const slices = async () =>
  (await cluster.client.resource(endpointSlices).namespace('default').list()).items.filter(
    ({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'web',
  );

async function addNode({ client }: TestCluster, name: string, zone?: string): Promise<void> {
  await client
    .resource(nodes)
    .create({ metadata: { name, labels: zone ? { 'topology.kubernetes.io/zone': zone } : {} } });
  const status = { allocatable: { cpu: '2' }, conditions: [{ type: 'Ready', status: 'True' }] };
  await client
    .resource(nodes)
    .patch(name, 'application/strategic-merge-patch+json', { status }, { subresource: 'status' });
}

async function addPod(
  { client }: TestCluster,
  name: string,
  address: string,
  more: New<Pod['spec']> = {},
  ready = true,
): Promise<void> {
  const inNamespace = client.resource(pods).namespace('default');
  await inNamespace.create({
    metadata: { name, labels: { app: 'web', extra: 'x' } },
    spec: {
      nodeName: 'node-a',
      containers: [
        { name: 'c', image: 'busybox:1', ports: [{ name: 'http', containerPort: 8080 }] },
      ],
      ...more,
    },
  });
  await setReady(client, name, ready, address);
}

async function setReady(
  client: TestCluster['client'],
  name: string,
  ready: boolean,
  address?: string,
): Promise<void> {
  const conditions = [
    { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2030-01-01T00:00:00Z' },
  ];
  const addresses = address?.split(',').map((ip) => ({ ip }));
  const status = {
    phase: 'Running',
    conditions,
    ...(addresses && { podIP: addresses[0]?.ip, podIPs: addresses }),
  };
  await client
    .resource(pods)
    .namespace('default')
    .patch(name, 'application/strategic-merge-patch+json', { status }, { subresource: 'status' });
}

const web = (spec: New<Service['spec']> = {}, metadata: object = {}): New<Service> => ({
  metadata: { name: 'web', namespace: 'default', labels: { tier: 'front' }, ...metadata },
  spec: {
    selector: { app: 'web' },
    ports: [{ name: 'main', port: 80, targetPort: 'http' }],
    ...spec,
  },
});
const start = async (settings: { maxEndpointsPerSlice?: number } = {}) => {
  await addNode(cluster, 'node-a', 'a');
  await cluster.run((config) => new EndpointSliceController({ ...config, ...settings }));
};
const eventsOfWeb = async () =>
  (await cluster.client.resource(events).namespace('default').list()).items
    .filter(({ involvedObject }) => involvedObject.name === 'web')
    .map(({ type, reason, message }) => `${type} ${reason} ${message}`);

describe('EndpointSliceController', () => {
  test('has address, node, conditions and port of each pod', async () => {
    await start();
    await inDefault().create(web());
    await addPod(cluster, 'p1', '10.244.0.1');
    await addPod(cluster, 'p2', '10.244.0.2', {}, false);
    await cluster.clock.settle();
    const service = await inDefault().get('web');
    const [slice, ...more] = await slices();
    expect(more).toEqual([]);
    expect(slice?.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
    expect(slice?.metadata).toMatchObject({
      generateName: 'web-',
      labels: {
        tier: 'front',
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2030-01-01T00:00:00Z' },
      ownerReferences: [
        {
          apiVersion: 'v1',
          kind: 'Service',
          name: 'web',
          uid: service.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
    expect(slice?.addressType).toBe('IPv4');
    expect(slice?.ports).toEqual([{ name: 'main', protocol: 'TCP', port: 8080 }]);
    const { uid } = (await cluster.client.resource(pods).namespace('default').get('p1')).metadata;
    expect(slice?.endpoints).toEqual([
      {
        addresses: ['10.244.0.1'],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: 'Pod', namespace: 'default', name: 'p1', uid },
        nodeName: 'node-a',
        zone: 'a',
      },
      expect.objectContaining({
        addresses: ['10.244.0.2'],
        conditions: { ready: false, serving: false, terminating: false },
      }),
    ]);
  });

  test('a terminating pod serves until it is gone', async () => {
    await start();
    await inDefault().create(web());
    await addPod(cluster, 'p1', '10.244.0.1');
    await cluster.clock.settle();
    await cluster.client.resource(pods).namespace('default').delete('p1');
    await cluster.clock.settle();
    expect((await slices())[0]?.endpoints?.[0]?.conditions).toEqual({
      ready: false,
      serving: true,
      terminating: true,
    });
    await cluster.client
      .resource(pods)
      .namespace('default')
      .delete('p1', { gracePeriodSeconds: 0 });
    await cluster.clock.settle();
    expect(await slices()).toMatchObject([{ endpoints: null, ports: null }]);
  });

  test('a service without pods has an empty slice, a service without a selector none', async () => {
    await start();
    await inDefault().create(web());
    await inDefault().create({ metadata: { name: 'other' }, spec: { ports: [{ port: 80 }] } });
    await cluster.clock.settle();
    const { items } = await cluster.client
      .resource(endpointSlices)
      .namespace('default')
      .list({ labelSelector: 'kubernetes.io/service-name in (web, other)' });
    expect(items).toMatchObject([
      { metadata: { generateName: 'web-' }, endpoints: null, ports: null, addressType: 'IPv4' },
    ]);
  });

  test('headless services: label, host names, and no ports if the service has none', async () => {
    await start();
    await inDefault().create(web({ clusterIP: 'None', ports: [] }));
    await addPod(cluster, 'p1', '10.244.0.1', { hostname: 'first', subdomain: 'web' });
    await addPod(cluster, 'p2', '10.244.0.2', { hostname: 'second', subdomain: 'elsewhere' });
    await cluster.clock.settle();
    const [slice] = await slices();
    expect(slice?.metadata.labels?.['service.kubernetes.io/headless']).toBe('');
    expect(slice?.ports).toBeNull();
    expect(slice?.endpoints?.map(({ hostname }) => hostname)).toEqual(['first', undefined]);
  });

  test('each address family has its own slices, which are deleted with the family', async () => {
    await start();
    // A headless service without a selector gets both families, even in a single-family cluster.
    const { selector: _, ...spec } =
      web({ clusterIP: 'None', ipFamilyPolicy: 'PreferDualStack' }).spec ?? {};
    await inDefault().create({ ...web(), spec });
    await inDefault().patch('web', MERGE, { spec: { selector: { app: 'web' } } });
    await addPod(cluster, 'p1', '10.244.0.1,fd00::1');
    await addPod(cluster, 'p2', '10.244.0.2');
    await cluster.clock.settle();
    const endpointsByFamily = async () =>
      (await slices())
        .map(({ addressType, endpoints }) =>
          [addressType, ...(endpoints ?? []).flatMap(({ addresses }) => addresses)].join(' '),
        )
        .toSorted();
    expect(await endpointsByFamily()).toEqual(['IPv4 10.244.0.1 10.244.0.2', 'IPv6 fd00::1']);
    await inDefault().patch('web', MERGE, { spec: { ipFamilyPolicy: 'SingleStack' } });
    await cluster.clock.settle();
    expect(await endpointsByFamily()).toEqual(['IPv4 10.244.0.1 10.244.0.2']);
  });

  test('publishes not-ready addresses where the service requests it, even without a node', async () => {
    await start();
    await inDefault().create(web({ publishNotReadyAddresses: true }));
    await addPod(cluster, 'p1', '10.244.0.1', { nodeName: 'unknown' }, false);
    await cluster.clock.settle();
    expect((await slices())[0]?.endpoints).toMatchObject([
      { conditions: { ready: true, serving: false }, nodeName: 'unknown' },
    ]);
  });

  test('a pod waits until its node is in the cache', async () => {
    await start();
    await inDefault().create(web());
    await addPod(cluster, 'p1', '10.244.0.1', { nodeName: 'node-b' });
    await cluster.clock.settle();
    expect((await slices())[0]?.endpoints).toBeNull();
    await cluster.clock.advance('1s');
    expect(await eventsOfWeb()).toEqual([
      'Warning FailedToUpdateEndpointSlices Error updating Endpoint Slices for Service default/web: ' +
        'skipping Pod p1 for Service default/web: Node node-b Not Found',
    ]);
    await addNode(cluster, 'node-b');
    await cluster.clock.settle();
    expect((await slices())[0]?.endpoints).toMatchObject([{ nodeName: 'node-b' }]);
  });

  test('no slice exceeds the maximum; pods with other ports have their own slices', async () => {
    await start({ maxEndpointsPerSlice: 3 });
    await inDefault().create(web());
    for (let number = 1; number <= 7; number++)
      await addPod(cluster, `p${number}`, `10.244.0.${number}`);
    const containers = [
      { name: 'c', image: 'busybox:1', ports: [{ name: 'http', containerPort: 9090 }] },
    ];
    await addPod(cluster, 'p8', '10.244.0.8', { containers });
    await cluster.clock.advance('1s');
    const found = (await slices()).map(
      ({ endpoints, ports }) => [ports?.[0]?.port ?? 0, endpoints?.length ?? 0] as const,
    );
    expect(found.every(([, count]) => count <= 3)).toBe(true);
    const total = (port: number) =>
      found.filter(([its]) => its === port).reduce((sum, [, count]) => sum + count, 0);
    expect([total(8080), total(9090)]).toEqual([7, 1]);
  });

  test('reverts foreign changes and deletions of slices; labels follow the service', async () => {
    await start();
    await inDefault().create(web());
    await addPod(cluster, 'p1', '10.244.0.1');
    await cluster.clock.settle();
    const own = cluster.client.resource(endpointSlices).namespace('default');
    const [{ metadata: { name } } = { metadata: { name: '' } }] = await slices();
    await own.patch(name, MERGE, { endpoints: [], metadata: { labels: { mine: '1' } } });
    await cluster.clock.settle();
    expect(await own.get(name)).toMatchObject({ endpoints: [{ addresses: ['10.244.0.1'] }] });
    expect((await own.get(name)).metadata.labels?.['mine']).toBeUndefined();
    await own.delete(name);
    await cluster.clock.settle();
    expect(await slices()).toMatchObject([{ endpoints: [{ addresses: ['10.244.0.1'] }] }]);
    await inDefault().patch('web', MERGE, { metadata: { labels: { tier: 'back' } } });
    await cluster.clock.settle();
    expect((await slices())[0]?.metadata.labels).toMatchObject({ tier: 'back' });
  });

  test('sets hints for services with a traffic distribution', async () => {
    await start();
    await inDefault().create(web({ trafficDistribution: 'PreferSameNode' }));
    await addPod(cluster, 'p1', '10.244.0.1');
    await cluster.clock.settle();
    expect((await slices())[0]?.endpoints?.[0]?.hints).toEqual({
      forZones: [{ name: 'a' }],
      forNodes: [{ name: 'node-a' }],
    });
    await inDefault().patch('web', MERGE, { spec: { trafficDistribution: null } });
    await cluster.clock.settle();
    expect((await slices())[0]?.endpoints?.[0]?.hints).toBeUndefined();
  });

  test('sets hints by the zones’ CPU, as long as there are enough endpoints', async () => {
    await start();
    await addNode(cluster, 'node-b', 'b');
    await inDefault().create(
      web({}, { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } }),
    );
    await addPod(cluster, 'p1', '10.244.0.1');
    await cluster.clock.advance('1s');
    expect((await slices())[0]?.endpoints?.[0]?.hints).toBeUndefined();
    await addPod(cluster, 'p2', '10.244.0.2');
    await cluster.clock.advance('1s');
    const zones = (await slices())[0]?.endpoints?.map(({ hints }) => hints?.forZones?.[0]?.name);
    expect(zones?.toSorted()).toEqual(['a', 'b']);
    await cluster.client.resource(nodes).delete('node-b');
    await cluster.clock.advance('1s');
    expect((await slices())[0]?.endpoints?.map(({ hints }) => hints)).toEqual([
      undefined,
      undefined,
    ]);
    const eventTexts = await eventsOfWeb();
    expect(eventTexts).toContain(
      'Normal TopologyAwareHintsEnabled Topology Aware Hints has been enabled, addressType: IPv4',
    );
    expect(eventTexts).toContain(
      'Warning TopologyAwareHintsDisabled Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv4',
    );
  });
});

/** Removes generations: how often a slice is written depends on the order of events. */
const withoutCounts = (outcome: readonly unknown[]): unknown =>
  JSON.parse(
    JSON.stringify(outcome, (key, value: unknown) => (key === 'generation' ? undefined : value)),
  );

test('reaches the same outcome after every fault', async () => {
  const {
    writes,
    events: seen,
    outcome,
    disturbed,
  } = await disturb({
    subject: (config) => new EndpointSliceController({ ...config, maxEndpointsPerSlice: 2 }),
    steps: [
      async (it) => {
        await addNode(it, 'node-a', 'a');
        await it.client.resource(services).create(web());
        await addPod(it, 'p1', '10.244.0.1');
        await addPod(it, 'p2', '10.244.0.2');
      },
      async (it) => addPod(it, 'p3', '10.244.0.3'),
      async ({ client }) => {
        await setReady(client, 'p1', false);
        await client.resource(pods).namespace('default').delete('p3', { gracePeriodSeconds: 0 });
      },
    ],
    outcome: [endpointSlices],
    rest: '1m',
  });
  expect([writes, seen].every((count) => count > 3)).toBe(true);
  for (const [what, end] of disturbed)
    expect(withoutCounts(end), what).toEqual(withoutCounts(outcome));
});
