// Services and the recorded allocations of their addresses and ports, which are repaired if they
// differ.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { events, services } from '#api/groups/core/v1/index.ts';
import { ipAddresses, serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { NODE_PORTS_KEY } from '../kinds/core/service/node-ports.ts';
import { ipAddressFor } from '../kinds/core/service/cluster-ips.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';

let t: TestServer;
let clock: VirtualClock;
beforeEach(async () => {
  clock = new VirtualClock();
  t = await startTestServer({ serviceCidr: '10.0.0.0/24', clock });
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const addresses = () => t.client.resource(ipAddresses);
const inDefault = () => t.client.resource(services).namespace('default');
const create = (name: string, spec: object = {}) =>
  inDefault().create({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });
/** Returns 'Reason: message' of each event. */
async function reported(): Promise<string[]> {
  const { items } = await t.client.resource(events).list();
  return items.map(({ reason, message }) => `${reason}: ${message}`);
}
async function restart(): Promise<void> {
  const { storage, server } = t;
  await server.stop();
  t = await startTestServer({ serviceCidr: '10.0.0.0/24', clock, storage });
}
const holders = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await addresses().list()).items
      .filter(({ metadata }) => metadata.name !== '10.0.0.1')
      .map(({ metadata, spec }) => [
        metadata.name,
        `${spec.parentRef?.resource} ${spec.parentRef?.name}`,
      ]),
  );

describe('an address', () => {
  const AT = '10.0.0.9';

  test.each(['as it happens', 'at the next start'])(
    'that is missing comes again: %s',
    async (when) => {
      await create('a', { clusterIP: AT });
      const mends = when === 'as it happens';
      if (!mends) await t.server.stop();
      await t.storage.delete(`/registry/ipaddresses/${AT}`);
      await (mends ? clock.advance('1s') : restart());
      await clock.advance('1s');
      expect(await holders()).toEqual({ [AT]: 'services a' });
      expect(await reported()).toEqual([
        `ClusterIPNotAllocated: Cluster IP [IPv4]: ${AT} is not allocated; repairing`,
      ]);
    },
  );

  test.each([
    [
      'of another owner',
      { spec: { parentRef: { group: 'example.org', resource: 'gateways', name: 'g' } } },
    ],
    ['of a service that does not exist', ipAddressFor(AT, { namespace: 'default', name: 'ghost' })],
  ])('%s is changed to the service with the address', async (_, object) => {
    await create('a', { clusterIP: AT });
    await t.server.stop();
    await t.storage.delete(`/registry/ipaddresses/${AT}`);
    await restartWithout(async () => {
      await addresses().create({
        ...object,
        metadata: { name: AT, labels: ipAddressFor(AT, HOLDER).metadata.labels },
      });
    });
    await clock.advance('1s');
    expect(await holders()).toEqual({ [AT]: 'services a' });
    expect(await reported()).toContain(
      `ClusterIPNotAllocated: the ClusterIP [IPv4]: ${AT} for Service default/a has a wrong reference; repairing`,
    );
  });

  test('without the allocator’s labels gets them', async () => {
    await create('a', { clusterIP: AT });
    await addresses().patch(AT, 'application/merge-patch+json', { metadata: { labels: null } });
    await clock.advance('1s');
    expect((await addresses().get(AT)).metadata.labels).toEqual(
      ipAddressFor(AT, HOLDER).metadata.labels,
    );
  });

  test('of two services stays with the first, and the second gets an event', async () => {
    await create('a', { clusterIP: AT });
    const { value } = (await t.storage.get('/registry/services/specs/default/a')) as {
      value: Uint8Array;
    };
    const copy = Buffer.from(
      Buffer.from(value).toString('latin1').replace('"name":"a"', '"name":"b"'),
      'latin1',
    );
    await t.storage.create('/registry/services/specs/default/b', copy);
    await clock.advance('1s');
    expect(await holders()).toEqual({ [AT]: 'services a' });
    expect(await reported()).toEqual([
      `ClusterIPAlreadyAllocated: Cluster IP [IPv4]:${AT} was assigned to multiple services; please recreate service`,
    ]);
  });

  test('outside of all ranges is only reported', async () => {
    const extra = await t.client
      .resource(serviceCIDRs)
      .create({ metadata: { name: 'extra' }, spec: { cidrs: ['10.7.0.0/24'] } });
    await create('a', { clusterIP: '10.7.0.9' });
    await t.client.resource(serviceCIDRs).delete(extra.metadata.name);
    await addresses().delete('10.7.0.9');
    await clock.advance('1s');
    expect(await holders()).toEqual({});
    expect(await reported()).toContain(
      'ClusterIPOutOfRange: Cluster IP [IPv4]: 10.7.0.9 is not within any configured Service ' +
        'CIDR; please recreate service',
    );
    await t.client
      .resource(serviceCIDRs)
      .create({ metadata: { name: 'again' }, spec: { cidrs: ['10.7.0.0/24'] } });
    await clock.advance('1s');
    expect(await holders()).toEqual({ '10.7.0.9': 'services a' });
  });

  test('without a service is released after a minute, not before', async () => {
    await addresses().create(ipAddressFor(AT, { namespace: 'default', name: 'ghost' }));
    await addresses().create({
      ...ipAddressFor('10.0.0.10', { namespace: 'default', name: 'ghost' }),
      metadata: { name: '10.0.0.10' },
    });
    await clock.advance('59s');
    expect(Object.keys(await holders())).toEqual(['10.0.0.10', AT]);
    await clock.advance('5s');
    // An IPAddress of another owner stays.
    expect(Object.keys(await holders())).toEqual(['10.0.0.10']);
    expect(await reported()).toEqual([
      `IPAddressNotAllocated: IPAddress: ${AT} for Service default/ghost appears to have leaked: cleaning up`,
    ]);
  });

  test('in another notation is the same', async () => {
    await t.server.stop();
    const { storage } = t;
    t = await startTestServer({ serviceCidr: '10.0.0.0/24,fd00::/120', clock, storage });
    await create('six', { clusterIP: 'fd00:0:0::0009', ipFamilies: ['IPv6'] });
    await clock.advance('5m');
    expect(await holders()).toEqual({ 'fd00::9': 'services six' });
    expect(await reported()).toEqual([]);
    await expect(create('other', { clusterIP: 'fd00::9', ipFamilies: ['IPv6'] })).rejects.toThrow(
      /already allocated/,
    );
    await inDefault().delete('six');
    expect(await holders()).toEqual({});
  });

  test('of a service with another address is released, too', async () => {
    await create('a', { clusterIP: '10.0.0.8' });
    await addresses().create(ipAddressFor(AT, { namespace: 'default', name: 'a' }));
    await clock.advance('2m');
    expect(await holders()).toEqual({ '10.0.0.8': 'services a' });
    expect(await reported()).toEqual([
      `IPAddressWrongReference: IPAddress: ${AT} for Service default/a has a wrong reference; cleaning up`,
    ]);
  });

  const HOLDER = { namespace: 'default', name: 'a' };
  /** Changes the store while no server runs, then starts one. */
  async function restartWithout(work: () => Promise<void>): Promise<void> {
    const { storage } = t;
    t = await startTestServer({ serviceCidr: '10.0.0.0/24', clock, storage, start: false });
    await work();
    await restart();
  }
});

describe('node ports', () => {
  const takenCount = async (): Promise<number> => {
    const kv = await t.storage.get(NODE_PORTS_KEY);
    const { data } = JSON.parse(Buffer.from(kv!.value).toString('utf8', 4)) as {
      data: string;
    };
    return [...Buffer.from(data, 'base64')].reduce(
      (sum, byte) => sum + byte.toString(2).replaceAll('0', '').length,
      0,
    );
  };
  const nodePort = { type: 'NodePort', ports: [{ port: 80, nodePort: 30_007 }] };

  test('that are not recorded are recorded at the next check', async () => {
    await create('a', nodePort);
    await create('b', { type: 'NodePort' });
    await inDefault().delete('b');
    expect(await takenCount()).toBe(1);
    // Simulates a port that was released by mistake.
    const { value } = (await t.storage.get(NODE_PORTS_KEY)) as { value: Uint8Array };
    const empty = Buffer.from(
      Buffer.from(value)
        .toString('latin1')
        .replace(/"data":"[^"]*"/, '"data":""'),
      'latin1',
    );
    await t.storage.guaranteedUpdate(NODE_PORTS_KEY, () => ({ action: 'put', value: empty }));
    await clock.advance('3m');
    await clock.advance('1s');
    expect(await takenCount()).toBe(1);
    expect(await reported()).toEqual(['PortNotAllocated: Port 30007 is not allocated; repairing']);
    await expect(create('thief', nodePort)).rejects.toThrow(/provided port is already allocated/);
  });

  test('of a store without a record are recorded at the start, without events', async () => {
    await create('a', nodePort);
    await t.server.stop();
    await t.storage.delete(NODE_PORTS_KEY);
    await restart();
    await expect(create('thief', nodePort)).rejects.toThrow(/provided port is already allocated/);
    expect(await reported()).toEqual([]);
  });

  test('without a service are released at the third check', async () => {
    await create('a', nodePort);
    await t.storage.delete('/registry/services/specs/default/a');
    await clock.advance('8m');
    expect(await takenCount()).toBe(1);
    await clock.advance('2m');
    expect(await takenCount()).toBe(0);
    await create('heir', nodePort);
  });

  test('without differences nothing is written', async () => {
    await create('a', nodePort);
    await clock.advance('4m');
    const before = await t.storage.currentRevision();
    await clock.advance('20m');
    expect(await t.storage.currentRevision()).toBe(before);
  });
});
