import { describe, expect, test } from 'vitest';
import { endpoints, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { advertisedAddress, OwnEndpoints, publishEndpoints } from './own-endpoints.ts';
import { serverPerTest } from './testing/server-per-test.ts';

const t = serverPerTest();

async function published(): Promise<readonly unknown[]> {
  const { subsets, metadata } = await t.client
    .resource(endpoints)
    .namespace('default')
    .get('kubernetes');
  const slice = await t.client.resource(endpointSlices).namespace('default').get('kubernetes');
  return [
    metadata.labels,
    subsets,
    slice.metadata.labels,
    slice.addressType,
    slice.endpoints,
    slice.ports,
  ];
}
const expected = (address: string, port: number, family: string) => [
  { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
  [{ addresses: [{ ip: address }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
  { 'kubernetes.io/service-name': 'kubernetes' },
  family,
  [{ addresses: [address], conditions: { ready: true } }],
  [{ name: 'https', port, protocol: 'TCP' }],
];

test('the server publishes its address, and again when it has changed', async () => {
  const { client } = t;
  await publishEndpoints(client, [{ address: '192.0.2.1', port: 6443 }]);
  expect(await published()).toEqual(expected('192.0.2.1', 6443, 'IPv4'));
  const slice = () => client.resource(endpointSlices).namespace('default').get('kubernetes');
  const { resourceVersion } = (await slice()).metadata;
  await publishEndpoints(client, [{ address: '192.0.2.1', port: 6443 }]);
  expect((await slice()).metadata.resourceVersion).toBe(resourceVersion);
  await publishEndpoints(client, [{ address: '192.0.2.2', port: 7443 }]);
  expect(await published()).toEqual(expected('192.0.2.2', 7443, 'IPv4'));
  await publishEndpoints(client, [{ address: '2001:db8::1', port: 7443 }]);
  expect(await published()).toEqual(expected('2001:db8::1', 7443, 'IPv6'));
});

test('servers with ports of their own are in the order of their addresses', async () => {
  await publishEndpoints(t.client, [
    { address: '192.0.2.3', port: 1001 },
    { address: '192.0.2.1', port: 1003 },
    { address: '192.0.2.2', port: 1002 },
  ]);
  const { subsets } = await t.client.resource(endpoints).namespace('default').get('kubernetes');
  const addresses = subsets?.flatMap((subset) => subset.addresses?.map(({ ip }) => ip));
  expect(addresses).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3']);
});

describe('servers on one store', () => {
  /**
   * Returns 'address:port' of all servers, which must be the same in slices and in the Endpoints.
   */
  async function all(): Promise<string> {
    const { subsets } = await t.client.resource(endpoints).namespace('default').get('kubernetes');
    const inEndpoints = (subsets ?? []).flatMap(({ addresses = [], ports = [] }) =>
      addresses.map(({ ip }) => `${ip}:${ports[0]?.port}`),
    );
    const { items } = await t.client.resource(endpointSlices).namespace('default').list();
    const inSlices = items.flatMap((slice) =>
      (slice.endpoints ?? []).map(({ addresses }) => `${addresses[0]}:${slice.ports?.[0]?.port}`),
    );
    expect(inSlices.toSorted()).toEqual(inEndpoints.toSorted());
    return inSlices.toSorted().join(' ');
  }
  const server = (address: string, port = 6443): OwnEndpoints => {
    const { client, storage, logger } = t;
    return new OwnEndpoints({
      client,
      storage,
      clock: t.clock,
      logger,
      address,
      port,
      shared: true,
    });
  };

  test('are all published, until they stop or die', async () => {
    const [one, two, three] = [server('192.0.2.1'), server('192.0.2.2'), server('192.0.2.3', 7443)];
    const [stopped, killed] = [new AbortController(), new AbortController()];
    for (const each of [one, two, three]) await each.join();
    expect(await all()).toBe('192.0.2.1:6443 192.0.2.2:6443 192.0.2.3:7443');
    const runs = [one.run(stopped.signal), two.run(killed.signal), three.run(stopped.signal)];
    await t.clock.advance('1m');
    expect(await all()).toBe('192.0.2.1:6443 192.0.2.2:6443 192.0.2.3:7443');
    killed.abort();
    await t.clock.advance('30s');
    expect(await all()).toBe('192.0.2.1:6443 192.0.2.3:7443');
    await three.leave();
    stopped.abort();
    await Promise.all(runs);
    expect(await all()).toBe('192.0.2.1:6443');
    await one.leave();
    expect(await all()).toBe('');
  });

  test('know whether there are others', async () => {
    const [one, two] = [server('192.0.2.1'), server('192.0.2.1', 7443)];
    await one.join();
    expect(await one.hasOthers()).toBe(false);
    await two.join();
    expect(await one.hasOthers()).toBe(true);
    await two.leave();
    expect(await one.hasOthers()).toBe(false);
  });

  test('may start at the same time', async () => {
    const addresses = Array.from({ length: 5 }, (_, index) => `192.0.2.${index + 1}`);
    const servers = addresses.map((address) => server(address));
    await Promise.all(servers.map((each) => each.join()));
    await Promise.all(servers.map((each) => each.join()));
    expect(await all()).toBe(addresses.map((address) => `${address}:6443`).join(' '));
  });
});

test('the Service kubernetes is created again when it is deleted', async () => {
  const inDefault = t.client.resource(services).namespace('default');
  const { uid, ...before } = {
    uid: (await inDefault.get('kubernetes')).metadata.uid,
    ...(await inDefault.get('kubernetes')).spec,
  };
  await inDefault.delete('kubernetes');
  await t.clock.advance('1s');
  const { metadata, spec } = await inDefault.get('kubernetes');
  expect(metadata.uid).not.toBe(uid);
  expect(spec).toEqual(before);
});

test('an address that is not reachable from elsewhere is not published', () => {
  expect(advertisedAddress('192.0.2.7')).toBe('192.0.2.7');
  for (const address of ['0.0.0.0', '::', '127.0.0.1', '::1']) {
    expect(advertisedAddress(address) ?? '').not.toMatch(/^(127\.|0\.|::)/);
  }
});
