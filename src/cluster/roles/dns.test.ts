import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { nodeSockets } from '#dns/index.ts';
import type { EmbeddedCluster } from '../index.ts';
import { dnsPermissionsYaml, startDnsRole, type DnsRoleConfig } from './dns.ts';
import { addressesAt, type DnsRoleTests, startDnsRoleTests } from './testing/dns-roles.ts';

let tests: DnsRoleTests;
let cluster: EmbeddedCluster;
let config: DnsRoleConfig;
beforeAll(async () => {
  tests = await startDnsRoleTests();
  ({ cluster } = tests);
  config = {
    ...tests.config,
    kubeconfig: tests.kubeconfig,
    bindAddress: ['127.0.0.1'],
    port: 0,
    metricsPort: 0,
    clusterIp: '10.96.0.10',
    advertiseAddress: '192.0.2.7',
    hostnameOverride: 'machine',
  };
});
afterAll(() => tests.stop());

test('answers, is published, serves metrics, and withdraws', async () => {
  const role = await startDnsRole(config);
  const [{ port } = { port: 0 }] = role.addresses;
  for (const ask of [nodeSockets.askUdp, nodeSockets.askTcp]) {
    const addresses = await addressesAt(port, 'kube-dns.kube-system.svc.cluster.local', ask);
    expect(addresses).toMatchObject([{ data: '10.96.0.10' }]);
  }
  const inSystem = cluster.client.resource(endpointSlices).namespace('kube-system');
  const slice = await inSystem.get('kube-dns-machine');
  expect(slice.endpoints).toMatchObject([{ addresses: ['192.0.2.7'] }]);
  expect(slice.ports?.map((each) => each.name)).toEqual(['dns', 'dns-tcp', 'metrics']);
  const metrics = await fetch(`http://127.0.0.1:${slice.ports?.[2]?.port}/metrics`);
  expect(await metrics.text()).toContain(
    'coredns_dns_requests_total{server="dns://:53",zone=".",view="",proto="udp",family="1",type="A"} 1',
  );
  expect((await fetch(`http://127.0.0.1:${slice.ports?.[2]?.port}/other`)).status).toBe(404);
  await role.stop();
  await expect(inSystem.get('kube-dns-machine')).rejects.toThrow('not found');
});

test.each([
  [{ clusterDomain: 'a..b' }, '--cluster-domain: "a..b" is not a DNS domain'],
  [
    { allowedClients: ['10.0.0.0/40'] },
    '--allowed-clients: "10.0.0.0/40" is no range of addresses',
  ],
  [{ bindAddress: ['192.0.2.7'] }, '--bind-address: '],
  [{ hostnameOverride: 'A B' }, '"A B" is no name for an EndpointSlice'],
])('%j cannot be', async (options, message) => {
  await expect(startDnsRole({ ...config, ...options })).rejects.toThrow(message);
});

test('a port that is taken', async () => {
  const role = await startDnsRole(config);
  const [{ port } = { port: 0 }] = role.addresses;
  await expect(startDnsRole({ ...config, port })).rejects.toThrow('one of the addresses is in use');
  await role.stop();
});

test('the permissions can be applied as they are printed', async () => {
  const applied = await cluster.apply(await dnsPermissionsYaml());
  expect(applied.map(({ kind }) => kind)).toEqual([
    'ClusterRole',
    'ClusterRoleBinding',
    'Role',
    'RoleBinding',
  ]);
});
