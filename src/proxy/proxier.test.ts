// The proxier with an API server: decisions, their timing, and the updates of a back end.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodes, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { createLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { ProxyHealth } from './health/proxy-health.ts';
import { ProxyMetrics } from './metrics.ts';
import type { RulesUpdate } from './model.ts';
import { addressesForNodePorts, Proxier, type ProxierNetwork } from './proxier.ts';

const server = serverPerTest();
let updates: RulesUpdate[];
let fail: Error | undefined;
let lines: string[];
let network: ProxierNetwork | undefined;
let metrics: ProxyMetrics;
let health: ProxyHealth;
let abort: AbortController;
let running: Promise<void> | undefined;

beforeEach(async () => {
  [updates, lines, fail, running] = [[], [], undefined, undefined];
  metrics = new ProxyMetrics({ clock: server.clock, families: ['IPv4'] });
  health = new ProxyHealth({ clock: server.clock, families: ['IPv4'] });
  abort = new AbortController();
});
afterEach(async () => {
  abort.abort(new Error('over'));
  await running;
});

/** Uses the proxy's account: its role must allow every request. */
function start(): void {
  const client = server.clientOf({ name: 'system:kube-proxy', groups: ['system:authenticated'] });
  const proxier = new Proxier({
    client,
    nodeName: 'here',
    makeBackend(given) {
      network = given;
      return {
        name: 'userspace',
        sync(update) {
          updates.push(update);
          return fail === undefined ? Promise.resolve() : Promise.reject(fail);
        },
        close: () => Promise.resolve(),
      };
    },
    machineAddresses: () => ['127.0.0.1', '192.168.0.1'],
    reservedPorts: [],
    nodePortAddresses: 'all',
    clock: server.clock,
    random: new SeededRandom('proxy'),
    logger: createLogger({ destination: { write: (line) => lines.push(line) } }),
    metrics,
    health,
  });
  running = proxier.run(abort.signal);
}

const createService = (name = 'web') =>
  server.client
    .resource(services)
    .namespace('default')
    .create({ metadata: { name, namespace: 'default' }, spec: { ports: [{ port: 80 }] } });
const createSlice = (addresses: string[], of = 'web') =>
  server.client
    .resource(endpointSlices)
    .namespace('default')
    .create({
      metadata: { name: of, namespace: 'default', labels: { 'kubernetes.io/service-name': of } },
      addressType: 'IPv4',
      ports: [{ name: '', port: 8080, protocol: 'TCP' }],
      endpoints: addresses.map((address) => ({
        addresses: [address],
        conditions: { ready: true },
        nodeName: 'here',
      })),
    });
/**
 * Returns the updates since the last call: 'complete' or 'partial', and each service with its
 * targets.
 */
async function seen(): Promise<string[]> {
  await server.clock.advance(100);
  return updates.splice(0).map(({ complete, changes }) => {
    const texts = [...changes]
      .filter(([key]) => key !== 'default/kubernetes')
      .map(
        ([key, rules]) =>
          `${key}=${rules?.ports[0]?.cluster.map(({ ip }) => ip).join(',') ?? 'gone'}`,
      );
    return [complete ? 'complete' : 'partial', ...texts.sort()].join(' ');
  });
}

test('the first update is complete, later ones contain changes', async () => {
  await createService();
  await createSlice(['10.0.0.1']);
  await createService('other');
  start();
  expect(await seen()).toEqual(['complete default/other= default/web=10.0.0.1']);
  const slices = server.client.resource(endpointSlices).namespace('default');
  const present = await slices.get('web');
  await slices.update({ ...present, endpoints: [{ addresses: ['10.0.0.2'], conditions: {} }] });
  expect(await seen()).toEqual(['partial default/web=10.0.0.2']);
  await slices.delete('web');
  expect(await seen()).toEqual(['partial default/web=']);
  await server.client.resource(services).namespace('default').delete('web');
  expect(await seen()).toEqual(['partial default/web=gone']);
  expect(metrics.text()).toContain(
    'kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"} 3',
  );
});

test('simultaneous changes are one update', async () => {
  start();
  await seen();
  await Promise.all(['a', 'b', 'c'].map((name) => createService(name)));
  const changed = (await seen()).join(' ');
  expect(changed).toContain('default/a=');
  expect(changed).toContain('default/c=');
});

test('after a failure everything is applied again, with growing delays', async () => {
  await createService();
  fail = new Error('no');
  start();
  expect(await seen()).toEqual(['complete default/web=']);
  await server.clock.advance(900);
  expect(updates.splice(0)).toHaveLength(1);
  await server.clock.advance(1900);
  expect(updates.splice(0)).toHaveLength(0);
  expect(metrics.text()).toContain(
    'kubeproxy_sync_proxy_rules_nftables_sync_failures_total{ip_family="IPv4"} 2',
  );
  expect(lines.filter((line) => line.includes('proxy: sync failed, retrying'))).toHaveLength(2);
  await server.clock.advance(60_000);
  expect(health.healthy).toBe(false);
  fail = undefined;
  await server.clock.advance(31_000);
  expect(health.healthy).toBe(true);
  expect(updates.at(-1)?.complete).toBe(true);
});

test('a new zone or address of the node changes all decisions; other changes do not', async () => {
  const { client } = server;
  await createService();
  start();
  await seen();
  await client.resource(nodes).create({ metadata: { name: 'here' } });
  await seen();
  const label = { metadata: { labels: { 'topology.kubernetes.io/zone': 'east' } } };
  await client.resource(nodes).patch('here', 'application/merge-patch+json', label);
  expect(await seen()).toEqual(['complete default/web=']);
  await client
    .resource(nodes)
    .patch('here', 'application/merge-patch+json', { metadata: { annotations: { a: 'b' } } });
  expect(await seen()).toEqual([]);
  const status = { addresses: [{ type: 'InternalIP', address: '192.168.0.9' }] };
  await client
    .resource(nodes)
    .patch('here', 'application/merge-patch+json', { status }, { subresource: 'status' });
  expect(await seen()).toEqual(['complete default/web=']);
  expect(network?.nodeIPs()).toEqual(['192.168.0.9']);
  expect(network?.serviceCidrs()).toHaveLength(1);
});

test('once an hour the rules are compared with the system', async () => {
  start();
  await seen();
  await server.clock.advance('1h');
  expect((await seen())[0]).toBe('complete');
});

test.each<[string, Parameters<typeof addressesForNodePorts>[0], readonly string[] | undefined]>([
  ['all', 'all', undefined],
  ['primary', 'primary', ['192.168.0.1']],
  ['a range of all', ['0.0.0.0/0', '::/0'], undefined],
  ['a range; the other family has all', ['10.0.0.0/8'], ['10.0.0.7', 'fd00::7']],
  ['two ranges', ['192.168.0.0/24', 'fd01::/16'], ['192.168.0.1']],
  ['loopback is never one', ['127.0.0.0/8', 'fd01::/16'], []],
])('addresses for node ports: %s', (_, choice, expected) => {
  const machine = ['127.0.0.1', '192.168.0.1', '10.0.0.7', 'fd00::7', 'fe80::1'];
  expect(addressesForNodePorts(choice, ['192.168.0.1'], machine)).toEqual(expected);
});
