import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endpoints, pods, type Service, services } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { EndpointsController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.run((config) => new EndpointsController(config));
});
afterEach(() => cluster.stop());

const MERGE = 'application/merge-patch+json';
const of = ({ client } = cluster) => client.resource(endpoints).namespace('default');
const inDefault = ({ client } = cluster) => client.resource(services).namespace('default');

async function addPod(
  { client }: TestCluster,
  name: string,
  ip: string,
  ready = true,
): Promise<void> {
  const inNamespace = client.resource(pods).namespace('default');
  const ports = [{ name: 'http', containerPort: 8080 }];
  await inNamespace.create({
    metadata: { name, labels: { app: 'web' } },
    spec: {
      nodeName: 'node-a',
      hostname: name,
      subdomain: 'web',
      containers: [{ name: 'c', image: 'busybox:1', ports }],
    },
  });
  const conditions = [
    { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2030-01-01T00:00:00Z' },
  ];
  const status = { phase: 'Running', conditions, podIP: ip, podIPs: [{ ip }, { ip: 'fd00::1' }] };
  await inNamespace.patch(
    name,
    'application/strategic-merge-patch+json',
    { status },
    { subresource: 'status' },
  );
}

const web = (spec: New<Service['spec']> = {}): New<Service> => ({
  metadata: { name: 'web', namespace: 'default', labels: { tier: 'front' } },
  spec: {
    selector: { app: 'web' },
    ports: [{ name: 'main', port: 80, targetPort: 'http' }],
    ...spec,
  },
});

describe('EndpointsController', () => {
  test('lists ready and not-ready addresses', async () => {
    await inDefault().create(web());
    await addPod(cluster, 'p1', '10.244.0.1');
    await addPod(cluster, 'p2', '10.244.0.2', false);
    await cluster.clock.settle();
    const { uid } = (await cluster.client.resource(pods).namespace('default').get('p1')).metadata;
    const found = await of().get('web');
    expect(found.metadata.labels).toEqual({
      tier: 'front',
      'endpoints.kubernetes.io/managed-by': 'endpoint-controller',
    });
    expect(found.metadata.annotations).toEqual({
      'endpoints.kubernetes.io/last-change-trigger-time': '2030-01-01T00:00:00Z',
    });
    expect(found.subsets).toEqual([
      {
        addresses: [
          {
            ip: '10.244.0.1',
            hostname: 'p1',
            nodeName: 'node-a',
            targetRef: { kind: 'Pod', namespace: 'default', name: 'p1', uid },
          },
        ],
        notReadyAddresses: [expect.objectContaining({ ip: '10.244.0.2' })],
        ports: [{ name: 'main', port: 8080, protocol: 'TCP' }],
      },
    ]);
  });

  test('leaves out terminating pods', async () => {
    await inDefault().create(web());
    await addPod(cluster, 'p1', '10.244.0.1');
    await cluster.clock.settle();
    await cluster.client.resource(pods).namespace('default').delete('p1');
    await cluster.clock.settle();
    expect((await of().get('web')).subsets).toBeUndefined();
  });

  test('marks headless services with a label; they need no ports', async () => {
    await inDefault().create(web({ clusterIP: 'None', ports: [] }));
    await addPod(cluster, 'p1', '10.244.0.1');
    await cluster.clock.settle();
    const found = await of().get('web');
    expect(found.metadata.labels).toMatchObject({ 'service.kubernetes.io/headless': '' });
    expect(found.subsets).toMatchObject([{ addresses: [{ ip: '10.244.0.1' }] }]);
  });

  test('reverts foreign changes, and leaves Endpoints without a service alone', async () => {
    await inDefault().create(web());
    await inDefault().create({ metadata: { name: 'manual' }, spec: { ports: [{ port: 80 }] } });
    const subsets = [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }];
    for (const name of ['manual', 'alone']) await of().create({ metadata: { name }, subsets });
    await addPod(cluster, 'p1', '10.244.0.1');
    await cluster.clock.settle();
    await of().patch('web', MERGE, { subsets, metadata: { labels: { mine: '1' } } });
    await cluster.clock.settle();
    expect(await of().get('web')).toMatchObject({
      subsets: [{ addresses: [{ ip: '10.244.0.1' }] }],
    });
    expect((await of().get('web')).metadata.labels?.['mine']).toBeUndefined();
    for (const name of ['manual', 'alone'])
      expect((await of().get(name)).subsets).toMatchObject([{ addresses: [{ ip: '10.0.0.1' }] }]);
    for (const name of ['manual', 'web']) {
      await inDefault().delete(name);
      await cluster.clock.settle();
      await expect(of().get(name)).rejects.toSatisfy(apierrors.isNotFound);
    }
    await expect(of().get('alone')).resolves.toBeDefined();
  });
});

const withoutCounts = (outcome: readonly unknown[]): unknown =>
  JSON.parse(
    JSON.stringify(outcome, (key, value: unknown) => (key === 'generation' ? undefined : value)),
  );

test('reaches the same outcome after every fault', async () => {
  const { writes, events, outcome, disturbed } = await disturb({
    subject: (config) => new EndpointsController(config),
    steps: [
      async (it) => {
        await inDefault(it).create(web());
        await inDefault(it).create({ ...web(), metadata: { name: 'gone' } });
        await addPod(it, 'p1', '10.244.0.1');
      },
      async (it) => addPod(it, 'p2', '10.244.0.2'),
      async (it) => {
        await inDefault(it).delete('gone');
        await it.client.resource(pods).namespace('default').delete('p1');
      },
    ],
    outcome: [endpoints],
    rest: '1m',
  });
  expect([writes, events].every((count) => count > 3)).toBe(true);
  for (const [what, end] of disturbed)
    expect(withoutCounts(end), what).toEqual(withoutCounts(outcome));
});
