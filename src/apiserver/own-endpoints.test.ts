import { afterEach, beforeEach, expect, test } from 'vitest';
import { endpoints } from '../api/core/v1/index.ts';
import { endpointSlices } from '../api/discovery/v1/index.ts';
import { advertisedAddress, publishOwnEndpoints } from './own-endpoints.ts';
import { startTestServer } from './testing/server.ts';
import type { TestServer } from './testing/server.ts';

let t: TestServer;
beforeEach(async () => {
  t = await startTestServer();
});
afterEach(() => t.stop());

async function published(): Promise<readonly unknown[]> {
  const { subsets, metadata } = await t.client.resource(endpoints).namespace('default').get('kubernetes');
  const slice = await t.client.resource(endpointSlices).namespace('default').get('kubernetes');
  return [metadata.labels, subsets, slice.metadata.labels, slice.addressType, slice.endpoints, slice.ports];
}
const expected = (address: string, port: number, family: string) => [
  { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
  [{ addresses: [{ ip: address }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
  { 'kubernetes.io/service-name': 'kubernetes' },
  family,
  [{ addresses: [address], conditions: { ready: true } }],
  [{ name: 'https', port, protocol: 'TCP' }],
];

test('the server says where it is, and again when it is elsewhere', async () => {
  const { client } = t;
  await publishOwnEndpoints({ client, address: '192.0.2.1', port: 6443 });
  expect(await published()).toEqual(expected('192.0.2.1', 6443, 'IPv4'));
  const slice = () => client.resource(endpointSlices).namespace('default').get('kubernetes');
  const { resourceVersion } = (await slice()).metadata;
  await publishOwnEndpoints({ client, address: '192.0.2.1', port: 6443 });
  expect((await slice()).metadata.resourceVersion).toBe(resourceVersion);
  await publishOwnEndpoints({ client, address: '192.0.2.2', port: 7443 });
  expect(await published()).toEqual(expected('192.0.2.2', 7443, 'IPv4'));
  await publishOwnEndpoints({ client, address: '2001:db8::1', port: 7443 });
  expect(await published()).toEqual(expected('2001:db8::1', 7443, 'IPv6'));
});

test('an address that means nothing elsewhere is not told', () => {
  expect(advertisedAddress('192.0.2.7')).toBe('192.0.2.7');
  for (const address of ['0.0.0.0', '::', '127.0.0.1', '::1']) {
    expect(advertisedAddress(address) ?? '').not.toMatch(/^(127\.|0\.|::)/);
  }
});
