import { expect, test } from 'vitest';
import { services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { clusterRoles } from '#api/groups/rbac/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import type { Client } from '#client/client.ts';
import { SeededRandom } from '#machinery/random.ts';
import { resolveWith } from '../resolve.ts';
import { DnsServer } from '../serving/dns-server.ts';
import { MemorySockets } from '../testing/memory-sockets.ts';
import { DNS_USERS } from './objects.ts';
import {
  grantDnsPermissions,
  publishDnsEndpoint,
  publishDnsService,
  withdrawDnsEndpoint,
} from './publish.ts';

const api = serverPerTest({ serviceCidr: '10.96.0.0/16' });

const slices = async (client: Client) =>
  (await client.resource(endpointSlices).namespace('kube-system').list()).items.map(
    ({ metadata, endpoints, ports }) =>
      `${metadata.name} ${endpoints?.[0]?.addresses.join()} ` +
      `${ports?.map(({ name, port }) => `${name}:${port}`).join(' ')}`,
  );

test('both users may do what the server does, and no more', async () => {
  await grantDnsPermissions(api.client);
  await grantDnsPermissions(api.client);
  for (const name of DNS_USERS) {
    const client = api.clientOf({ name, groups: ['system:authenticated'] });
    expect(await publishDnsService(client, '10.96.0.10', true)).toBe(true);
    await publishDnsEndpoint(client, {
      node: 'a',
      at: { address: '192.0.2.1', port: 53 },
      isNode: false,
      metricsPort: 9153,
    });
    const server = new DnsServer({
      client,
      sockets: new MemorySockets(),
      clock: api.clock,
      random: new SeededRandom('publish'),
      logger: api.logger,
      listen: [],
      allowedClients: [],
    });
    await server.start();
    await api.clock.advance(50);
    await server.waitForSync(AbortSignal.timeout(5000));
    expect(
      (await resolveWith(server, 'kube-dns.kube-system.svc.cluster.local', 'A')).answers,
    ).toHaveLength(1);
    await server.stop();
    await expect(client.resource(clusterRoles).list()).rejects.toThrow('forbidden');
    await expect(
      client
        .resource(services)
        .namespace('default')
        .create({ metadata: { name: 'x' }, spec: {} }),
    ).rejects.toThrow('forbidden');
  }
});

test('the slice of a machine follows its address, and is deleted', async () => {
  const publish = (address: string, port: number) =>
    publishDnsEndpoint(api.client, { node: 'a', at: { address, port }, isNode: false });
  await publish('192.0.2.1', 53);
  await publish('192.0.2.2', 1053);
  expect(await slices(api.client)).toEqual(['kube-dns-a 192.0.2.2 dns:1053 dns-tcp:1053']);
  // The address type of a slice is immutable, so the slice is replaced.
  await publish('2001:db8::1', 53);
  expect(await slices(api.client)).toEqual(['kube-dns-a 2001:db8::1 dns:53 dns-tcp:53']);
  await withdrawDnsEndpoint(api.client, 'a');
  await withdrawDnsEndpoint(api.client, 'a');
  expect(await slices(api.client)).toEqual([]);
});

test('a Service that selects pods belongs to another server', async () => {
  await api.client
    .resource(services)
    .namespace('kube-system')
    .create({
      metadata: { name: 'kube-dns' },
      spec: { selector: { 'k8s-app': 'kube-dns' }, ports: [{ port: 53 }] },
    });
  expect(await publishDnsService(api.client, '10.96.0.10', false)).toBe(false);
});
