// The announcer with an API server, on a simulated machine.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { events, nodes, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { createLogger } from '#machinery/log.ts';
import { IpPool } from '#machinery/net/ip-pool.ts';
import { SeededRandom } from '#machinery/random.ts';
import { Announcer } from './announcer.ts';
import type { Announcement } from './decide.ts';
import type { AnnouncedAddresses } from './system.ts';

const MERGE = 'application/merge-patch+json';

/** The machines of a link, with their addresses. */
class FakeLink {
  readonly owners = new Map<string, Set<string>>();
  /** Machines that have an address but do not answer. */
  readonly silent = new Set<string>();
  readonly forced: string[] = [];

  machine(name: string): AnnouncedAddresses & { protected: readonly Announcement[] } {
    const owners = (address: string): Set<string> => {
      const set = this.owners.get(address) ?? new Set<string>();
      this.owners.set(address, set);
      return set;
    };
    const system = {
      protected: [] as readonly Announcement[],
      held: () =>
        Promise.resolve(
          new Set([...this.owners].filter(([, set]) => set.has(name)).map(([address]) => address)),
        ),
      add: (address: string, { force }: { force: boolean }) => {
        const others = [...owners(address)].filter(
          (owner) => owner !== name && !this.silent.has(owner),
        );
        if (others.length > 0 && !force) return Promise.resolve('in use' as const);
        if (force) this.forced.push(`${name} ${address}`);
        owners(address).add(name);
        return Promise.resolve('added' as const);
      },
      remove: (address: string) => {
        owners(address).delete(name);
        return Promise.resolve();
      },
      protect: (announcements: readonly Announcement[]) => {
        system.protected = announcements;
        return Promise.resolve();
      },
    };
    return system;
  }

  at(address = '10.0.0.240'): string {
    return [...(this.owners.get(address) ?? [])].sort().join(' ');
  }
}

const server = serverPerTest();
let link: FakeLink;
let running: { name: string; stop: () => Promise<void> }[];

beforeEach(async () => {
  link = new FakeLink();
  running = [];
});
afterEach(async () => {
  for (const { stop } of running) await stop();
});

function start(name: string): ReturnType<FakeLink['machine']> {
  const abort = new AbortController();
  const system = link.machine(name);
  const announcer = new Announcer({
    // Uses the service proxy's account: its role must allow every request.
    client: server.clientOf({ name: 'system:kube-proxy', groups: ['system:authenticated'] }),
    nodeName: name,
    pool: IpPool.parse('10.0.0.240-10.0.0.250'),
    system,
    clock: server.clock,
    random: new SeededRandom(name),
    logger: createLogger({ destination: { write: () => undefined } }),
  });
  const run = announcer.run(abort.signal);
  running.push({
    name,
    stop: async () => {
      abort.abort(new Error('over'));
      await run;
    },
  });
  return system;
}

async function addNode(name: string, labels: Record<string, string> = {}): Promise<void> {
  await server.client.resource(nodes).create({ metadata: { name, labels } });
  await setReady(name, 'True');
  await renew(name);
}
const setReady = (name: string, status: string) =>
  server.client
    .resource(nodes)
    .patch(
      name,
      MERGE,
      { status: { conditions: [{ type: 'Ready', status }] } },
      { subresource: 'status' },
    );
async function renew(name: string): Promise<void> {
  const inNamespace = server.client.resource(leases).namespace('kube-node-lease');
  const renewTime = `${new Date(server.clock.now()).toISOString().slice(0, -1)}000Z`;
  const spec = { holderIdentity: name, renewTime };
  await inNamespace
    .patch(name, MERGE, { spec })
    .catch(() => inNamespace.create({ metadata: { name }, spec }));
}
async function addService(name: string, ips: readonly string[], spec: object = {}): Promise<void> {
  const inDefault = server.client.resource(services).namespace('default');
  await inDefault.create({
    metadata: { name },
    spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
  });
  const ingress = ips.map((ip) => ({ ip, ipMode: 'VIP' }));
  await inDefault.patch(
    name,
    MERGE,
    { status: { loadBalancer: { ingress } } },
    { subresource: 'status' },
  );
}
const settle = async (rounds = 1): Promise<void> => {
  for (let round = 0; round < rounds; round++) await server.clock.advance('3s');
};
/** Lets time pass while these nodes renew their leases. */
async function live(seconds: number, ...alive: string[]): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 5) {
    for (const name of alive) await renew(name);
    await server.clock.advance('5s');
  }
}
const eventsOf = async (name: string): Promise<readonly string[]> =>
  (await server.client.resource(events).namespace('default').list()).items
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

describe('an address', () => {
  test('is on exactly one node, and only if the pool contains it', async () => {
    for (const name of ['a', 'b', 'c']) await addNode(name);
    const machines = ['a', 'b', 'c'].map((name) => start(name));
    for (let last = 240; last <= 250; last++) await addService(`s${last}`, [`10.0.0.${last}`]);
    await addService('other', ['10.0.0.1', '192.0.2.7']);
    await settle();
    const owners = [240, 241, 242, 246, 249, 250].map((last) => link.at(`10.0.0.${last}`));
    expect(owners.every((owner) => /^[abc]$/.test(owner))).toBe(true);
    expect(new Set(owners).size).toBe(2);
    expect([link.at('10.0.0.1'), link.at('192.0.2.7')]).toEqual(['', '']);
    const guarded = machines.flatMap((machine) =>
      machine.protected.map(({ address, ports }) => [address, ports]),
    );
    expect(guarded).toHaveLength(11);
    expect(guarded[0]?.[1]).toEqual([{ protocol: 'tcp', port: 80 }]);
  });

  test('moves when its node is not ready, and is withdrawn with its service', async () => {
    for (const name of ['a', 'b']) await addNode(name);
    for (const name of ['a', 'b']) start(name);
    await addService('web', ['10.0.0.240']);
    await settle();
    const [first, second] = link.at() === 'a' ? ['a', 'b'] : ['b', 'a'];
    await setReady(first, 'False');
    await settle(2);
    expect(link.at()).toBe(second);
    await server.client.resource(services).namespace('default').delete('web');
    await settle();
    expect(link.at()).toBe('');
  });

  test('of a dead machine moves when its lease is not renewed; an answering machine keeps it', async () => {
    for (const name of ['a', 'b']) await addNode(name);
    for (const name of ['a', 'b']) start(name);
    await addService('web', ['10.0.0.240']);
    await live(10, 'a', 'b');
    const [first, second] = link.at() === 'a' ? ['a', 'b'] : ['b', 'a'];
    await live(30, second);
    expect(link.at()).toBe(first);
    expect(await eventsOf('web')).toEqual([]);
    link.silent.add(first);
    await live(5, second);
    expect(link.at().split(' ')).toContain(second);
    expect(link.forced).toEqual([]);
  });

  test('on an unready node that keeps it is taken over', async () => {
    for (const name of ['a', 'b']) await addNode(name);
    await addService('web', ['10.0.0.240']);
    start('a');
    start('b');
    await settle();
    const [first, second] = link.at() === 'a' ? ['a', 'b'] : ['b', 'a'];
    await running.find(({ name }) => name === first)?.stop();
    // The machine still answers, as after a crash before it could withdraw the address.
    link.owners.get('10.0.0.240')?.add(first);
    await setReady(first, 'Unknown');
    await settle(6);
    expect(link.at()).toBe(`a b`);
    expect(link.forced).toEqual([`${second} 10.0.0.240`]);
  });

  test('that another machine has is reported in an event, and announced once it is free', async () => {
    await addNode('a');
    link.owners.set('10.0.0.240', new Set(['printer']));
    start('a');
    await addService('web', ['10.0.0.240']);
    await settle(6);
    expect(link.at()).toBe('printer');
    expect(await eventsOf('web')).toEqual([
      'Warning AddressNotAnnounced: address 10.0.0.240 is not announced: another machine on the link of node a has it',
    ]);
    link.owners.clear();
    await settle(2);
    expect(link.at()).toBe('a');
  });

  test('of two services belongs to the older one', async () => {
    await addNode('a');
    const machine = start('a');
    await addService('old', ['10.0.0.240']);
    await server.clock.advance('5s');
    await addService('young', ['10.0.0.240'], { ports: [{ port: 81 }] });
    await settle();
    expect(machine.protected.map(({ service }) => service)).toEqual(['default/old']);
  });

  test('of a service with externalTrafficPolicy Local is on nodes with endpoints', async () => {
    for (const name of ['a', 'b']) await addNode(name);
    for (const name of ['a', 'b']) start(name);
    await addService('web', ['10.0.0.240'], { externalTrafficPolicy: 'Local' });
    await settle();
    expect(link.at()).toBe('');
    const slices = server.client.resource(endpointSlices).namespace('default');
    const endpoint = (nodeName: string) => ({
      addresses: ['10.1.0.1'],
      conditions: { ready: true },
      nodeName,
    });
    await slices.create({
      metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [{ name: '', port: 8080, protocol: 'TCP' }],
      endpoints: [endpoint('b')],
    });
    await settle();
    expect(link.at()).toBe('b');
    await slices.patch('web-1', MERGE, { endpoints: [endpoint('a')] });
    await settle(2);
    expect(link.at()).toBe('a');
  });
});

test('excluded nodes announce nothing; without a ready node every node is a candidate', async () => {
  await addNode('a', { 'node.kubernetes.io/exclude-from-external-load-balancers': '' });
  await addNode('b');
  for (const name of ['a', 'b']) start(name);
  for (let last = 240; last <= 250; last++) await addService(`s${last}`, [`10.0.0.${last}`]);
  await settle();
  await setReady('b', 'False');
  await settle(2);
  expect(new Set([...link.owners.keys()].map((address) => link.at(address)))).toEqual(
    new Set(['b']),
  );
});

test('a stopping node withdraws addresses that another node can take over, and the only node keeps them', async () => {
  await addNode('a');
  start('a');
  await addService('web', ['10.0.0.240']);
  await settle();
  await running[0]?.stop();
  expect(link.at()).toBe('a');
  await addNode('b');
  start('b');
  await settle();
  start('a');
  await settle(3);
  await Promise.all(running.map(({ stop }) => stop()));
  expect(link.at()).toBe('');
});
