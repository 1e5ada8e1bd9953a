import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endpoints, events, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { EndpointSliceMirroringController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.run(
    (config) => new EndpointSliceMirroringController({ ...config, maxEndpointsPerSubset: 4 }),
  );
});
afterEach(() => cluster.stop());

const MERGE = 'application/merge-patch+json';
const of = ({ client } = cluster) => client.resource(endpoints).namespace('default');
const inDefault = ({ client } = cluster) => client.resource(services).namespace('default');
const slices = async () =>
  (await cluster.client.resource(endpointSlices).namespace('default').list()).items;
const addresses = (...ips: string[]) => ips.map((ip) => ({ ip }));
const service = (selector?: Record<string, string>) => ({
  metadata: { name: 'web' },
  spec: { ports: [{ port: 80 }], ...(selector && { selector }) },
});
const written = (metadata: object = {}) => ({
  metadata: {
    name: 'web',
    labels: { mine: '1' },
    annotations: { note: 'x', 'endpoints.kubernetes.io/last-change-trigger-time': 'then' },
    ...metadata,
  },
  subsets: [
    {
      addresses: addresses('10.0.0.1'),
      notReadyAddresses: addresses('10.0.0.2', 'fd00::2'),
      ports: [{ name: 'http', port: 80 }],
    },
  ],
});

describe('EndpointSliceMirroringController', () => {
  test('mirrors custom Endpoints, each address family into its own slice', async () => {
    await inDefault().create(service());
    const { metadata } = await of().create(written());
    await cluster.clock.settle();
    const found = (await slices()).toSorted((a, b) => (a.addressType < b.addressType ? -1 : 1));
    expect(found.map(({ addressType, endpoints: list }) => [addressType, list])).toEqual([
      [
        'IPv4',
        [
          { addresses: ['10.0.0.1'], conditions: { ready: true } },
          { addresses: ['10.0.0.2'], conditions: { ready: false } },
        ],
      ],
      ['IPv6', [{ addresses: ['fd00::2'], conditions: { ready: false } }]],
    ]);
    expect(found[0]?.ports).toEqual([{ name: 'http', protocol: 'TCP', port: 80 }]);
    expect(found[0]?.metadata).toMatchObject({
      generateName: 'web-',
      labels: {
        mine: '1',
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
      },
      annotations: { note: 'x' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Endpoints', name: 'web', uid: metadata.uid, controller: true },
      ],
    });
    expect(Object.keys(found[0]?.metadata.annotations ?? {})).toEqual(['note']);
  });

  test('follows changes, also of labels and annotations', async () => {
    await inDefault().create(service());
    await of().create(written());
    await cluster.clock.settle();
    const subsets = [{ addresses: addresses('10.0.0.3'), ports: [{ port: 81 }] }];
    await of().patch('web', MERGE, {
      subsets,
      metadata: { labels: { mine: '2' }, annotations: { note: null, other: 'y' } },
    });
    await cluster.clock.settle();
    const [slice, ...more] = await slices();
    expect(more).toEqual([]);
    expect(slice).toMatchObject({
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.3'] }],
      ports: [{ name: '', port: 81 }],
    });
    expect([slice?.metadata.labels?.['mine'], slice?.metadata.annotations]).toEqual([
      '2',
      { other: 'y' },
    ]);
    await of().patch('web', MERGE, { subsets: [] });
    await cluster.clock.settle();
    expect(await slices()).toEqual([]);
  });

  test.each<[string, object, object]>([
    [
      'without a service',
      { metadata: { name: 'other' }, spec: { ports: [{ port: 80 }] } },
      written(),
    ],
    ['of a service that selects pods', service({ app: 'web' }), written()],
    [
      'that say no',
      service(),
      written({ labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }),
    ],
    [
      'of elections',
      service(),
      written({ annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }),
    ],
  ])('leaves endpoints alone %s', async (_, its, object) => {
    await inDefault().create(its);
    await of().create(object);
    await cluster.clock.settle();
    expect(await slices()).toEqual([]);
  });

  test('slices are deleted when mirroring ends, and created again when it resumes', async () => {
    await inDefault().create(service());
    await of().create(written());
    await cluster.clock.settle();
    expect(await slices()).toHaveLength(2);
    await of().patch('web', MERGE, {
      metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    });
    await cluster.clock.settle();
    expect(await slices()).toEqual([]);
    await of().patch('web', MERGE, {
      metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': null } },
    });
    await cluster.clock.settle();
    expect(await slices()).toHaveLength(2);
    await inDefault().delete('web');
    await cluster.clock.settle();
    expect(await slices()).toEqual([]);
  });

  test('mirrors at most the maximum number of addresses', async () => {
    await inDefault().create(service());
    const subsets = [
      {
        addresses: addresses(
          '10.0.0.1',
          '10.0.0.2',
          '10.0.0.3',
          '10.0.0.4',
          '10.0.0.5',
          '10.0.0.6',
        ),
        ports: [{ port: 80 }],
      },
    ];
    await of().create({ metadata: { name: 'web' }, subsets });
    await cluster.clock.advance('1s');
    expect((await slices())[0]?.endpoints).toHaveLength(4);
    const { items } = await cluster.client.resource(events).namespace('default').list();
    expect(items.map(({ reason, message }) => `${reason} ${message}`)).toEqual([
      'TooManyAddressesToMirror A max of 4 addresses can be mirrored to EndpointSlices per ' +
        'Endpoints subset. 2 addresses were skipped',
    ]);
  });
});

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
    subject: (config) => new EndpointSliceMirroringController(config),
    steps: [
      async (it) => {
        await inDefault(it).create(service());
        await of(it).create(written());
      },
      async (it) => {
        const ports = [{ name: 'http', port: 80 }];
        await of(it).patch('web', MERGE, {
          subsets: [
            { addresses: addresses('10.0.0.1', '10.0.0.9'), ports },
            { addresses: addresses('10.0.0.7'), ports: [{ port: 81 }] },
          ],
        });
      },
    ],
    outcome: [endpointSlices],
    rest: '1m',
  });
  expect([writes, seen].every((count) => count > 3)).toBe(true);
  for (const [what, end] of disturbed)
    expect(withoutCounts(end), what).toEqual(withoutCounts(outcome));
});
