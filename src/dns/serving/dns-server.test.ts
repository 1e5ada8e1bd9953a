import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Answer, RecordType } from 'dns-packet';
import { configMaps, namespaces, services, type Service } from '#api/groups/core/v1/index.ts';
import { endpointSlices, type EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { SeededRandom } from '#machinery/random.ts';
import { framed, MemoryConnection, MemorySockets } from '../testing/memory-sockets.ts';
import { answerTo, query, read, type QueryOptions, type Read } from '../testing/queries.ts';
import { DnsServer } from './dns-server.ts';

const POD = { address: '10.244.0.9', port: 40_000 };

const api = serverPerTest({ serviceCidr: '10.96.0.0/16,fd00:96::/112' });
let sockets: MemorySockets;
let server: DnsServer;

beforeEach(async () => {
  sockets = new MemorySockets();
  server = new DnsServer({
    client: api.client,
    sockets,
    clock: api.clock,
    random: new SeededRandom('dns'),
    logger: api.logger,
    listen: [{ address: '10.96.0.10', port: 53 }],
    allowedClients: ['10.244.0.0/16'],
  });
});

afterEach(async () => {
  await server.stop();
});

async function started(): Promise<void> {
  await server.start();
  await settle();
  await server.waitForSync(AbortSignal.timeout(5000));
}

/** Lets work in flight finish. */
const settle = (ms = 20): Promise<void> => api.clock.advance(ms);

const create = (object: New<Service>) =>
  api.client.resource(services).namespace('shop').create(object);
const createSlice = (object: New<EndpointSlice>) =>
  api.client.resource(endpointSlices).namespace('shop').create(object);

async function shop(): Promise<void> {
  await api.client.resource(namespaces).create({ metadata: { name: 'shop' } });
  await create({
    metadata: { name: 'web' },
    spec: { clusterIP: '10.96.1.1', ports: [{ name: 'http', port: 80 }] },
  });
  await create({
    metadata: { name: 'db' },
    spec: { clusterIP: 'None', ports: [{ name: 'pg', port: 5432 }] },
  });
  await createSlice({
    metadata: { name: 'db-1', labels: { 'kubernetes.io/service-name': 'db' } },
    addressType: 'IPv4',
    endpoints: [
      { addresses: ['10.244.0.1'], hostname: 'db-0', conditions: { ready: true } },
      { addresses: ['10.244.0.2'], conditions: { ready: true } },
    ],
    ports: [{ name: 'pg', port: 5432, protocol: 'TCP' }],
  });
}

async function ask(name: string, type: RecordType, options?: QueryOptions): Promise<Read> {
  const message = await server.ask(query(name, type, options), 'udp');
  if (message === undefined) throw new Error('no answer');
  return read(message);
}

const inShop = (name: string, type: RecordType): Promise<Read> =>
  ask(`${name}.shop.svc.cluster.local`, type);

describe('records of the cluster', () => {
  beforeEach(async () => {
    await shop();
    await started();
  });

  test('a service, its ports, its address', async () => {
    expect(await inShop('web', 'A')).toMatchObject({
      rcode: 'NOERROR',
      authoritative: true,
      answers: ['web.shop.svc.cluster.local 5 A 10.96.1.1'],
    });
    expect(await inShop('_http._tcp.web', 'SRV')).toMatchObject({
      answers: ['_http._tcp.web.shop.svc.cluster.local 5 SRV 0 100 80 web.shop.svc.cluster.local'],
      additionals: ['web.shop.svc.cluster.local 5 A 10.96.1.1'],
    });
    expect(await ask('1.1.96.10.in-addr.arpa', 'PTR')).toMatchObject({
      answers: ['1.1.96.10.in-addr.arpa 5 PTR web.shop.svc.cluster.local'],
    });
  });

  test('a headless service: its endpoints, by hostname and by address', async () => {
    expect((await inShop('db', 'A')).answers.toSorted()).toEqual([
      'db.shop.svc.cluster.local 5 A 10.244.0.1',
      'db.shop.svc.cluster.local 5 A 10.244.0.2',
    ]);
    expect((await inShop('db-0.db', 'A')).answers).toEqual([
      'db-0.db.shop.svc.cluster.local 5 A 10.244.0.1',
    ]);
    expect((await inShop('10-244-0-2.db', 'A')).answers).toHaveLength(1);
    expect((await inShop('10-244-0-1.db', 'A')).rcode).toBe('NXDOMAIN');
    expect((await inShop('db', 'SRV')).answers.toSorted()).toEqual([
      'db.shop.svc.cluster.local 5 SRV 0 50 5432 10-244-0-2.db.shop.svc.cluster.local',
      'db.shop.svc.cluster.local 5 SRV 0 50 5432 db-0.db.shop.svc.cluster.local',
    ]);
    expect((await ask('2.0.244.10.in-addr.arpa', 'PTR')).answers).toEqual([
      '2.0.244.10.in-addr.arpa 5 PTR 10-244-0-2.db.shop.svc.cluster.local',
    ]);
  });

  test('a name without records of the type, and a name that does not exist', async () => {
    const soa = ['cluster.local 5 SOA'];
    expect(await inShop('web', 'AAAA')).toMatchObject({
      rcode: 'NOERROR',
      answers: [],
      authorities: soa,
    });
    expect(await inShop('nothing', 'A')).toMatchObject({
      rcode: 'NXDOMAIN',
      answers: [],
      authorities: soa,
    });
    expect((await ask('1-2-3-4.shop.pod.cluster.local', 'A')).answers).toEqual([
      '1-2-3-4.shop.pod.cluster.local 5 A 1.2.3.4',
    ]);
    expect((await ask('1-2-3-4.other.pod.cluster.local', 'A')).rcode).toBe('NXDOMAIN');
    expect((await ask('dns-version.cluster.local', 'TXT')).answers).toEqual([
      'dns-version.cluster.local 28800 TXT 1.1.0',
    ]);
  });

  test('a change is visible at once, although answers are cached', async () => {
    expect((await inShop('db', 'A')).answers).toHaveLength(2);
    await api.client.resource(endpointSlices).namespace('shop').delete('db-1');
    await settle();
    expect((await inShop('db', 'A')).rcode).toBe('NXDOMAIN');
    await api.client.resource(services).namespace('shop').delete('web');
    await settle();
    expect((await inShop('web', 'A')).rcode).toBe('NXDOMAIN');
    await create({
      metadata: { name: 'web' },
      spec: { clusterIP: '10.96.1.2', ports: [{ port: 80 }] },
    });
    await settle();
    expect((await inShop('web', 'A')).answers).toEqual([
      'web.shop.svc.cluster.local 5 A 10.96.1.2',
    ]);
  });

  test('addresses of a headless service rotate', async () => {
    const first = new Set<string | undefined>();
    for (let i = 0; i < 40; i++) first.add((await inShop('db', 'A')).answers[0]);
    expect(first.size).toBe(2);
  });

  test('ANY and transfers', async () => {
    expect(await inShop('web', 'ANY' as RecordType)).toMatchObject({
      answers: [],
      rcode: 'NOERROR',
    });
    expect(await inShop('web', 'AXFR')).toMatchObject({
      answers: [],
      rcode: 'REFUSED',
      authoritative: false,
    });
    expect((await ask('example.com', 'AXFR')).rcode).toBe('REFUSED');
    const any = await server.ask(query('example.com', 'ANY' as RecordType), 'udp');
    expect(any?.length).toBeLessThan(70);
  });
});

test('until the records have synced, a missing name is answered with SERVFAIL', async () => {
  await server.start();
  expect((await inShop('web', 'A')).rcode).toBe('SERVFAIL');
  await shop();
  await settle();
  expect((await inShop('web', 'A')).answers).toHaveLength(1);
});

describe('large answers', () => {
  beforeEach(async () => {
    await shop();
    await createSlice({
      metadata: { name: 'db-2', labels: { 'kubernetes.io/service-name': 'db' } },
      addressType: 'IPv4',
      endpoints: Array.from({ length: 900 }, (_, i) => ({
        addresses: [`10.244.${1 + (i >> 7)}.${1 + (i & 127)}`],
        conditions: {},
      })),
      ports: [{ name: 'pg', port: 5432, protocol: 'TCP' }],
    });
    await started();
  });

  test.each([
    [undefined, 512],
    [1, 512],
    [100, 512],
    [800, 800],
    [1232, 1232],
    [65_535, 1232],
  ])('with a size of %s, an answer by UDP has at most %s bytes', async (udpSize, limit) => {
    const message = await server.ask(
      query('db.shop.svc.cluster.local', 'A', udpSize === undefined ? {} : { udpSize }),
      'udp',
    );
    expect(message?.length).toBeLessThanOrEqual(limit);
    expect(message?.length).toBeGreaterThan(limit - 17);
    const answer = read(message as Buffer);
    expect(answer.truncated).toBe(true);
    expect(answer.additionals).toEqual(udpSize === undefined ? [] : ['OPT 1232']);
  });

  test('over TCP they are complete', async () => {
    const message = await server.ask(query('db.shop.svc.cluster.local', 'A'), 'tcp');
    expect(read(message as Buffer)).toMatchObject({ truncated: false });
    expect(read(message as Buffer).answers).toHaveLength(902);
  });
});

describe('clients', () => {
  beforeEach(async () => {
    await shop();
    await started();
  });

  test('pods get answers over UDP; other clients get none', () => {
    const message = query('web.shop.svc.cluster.local', 'A', { id: 5 });
    sockets.receive(message, { address: '203.0.113.5', port: 53 });
    expect(sockets.sent).toEqual([]);
    sockets.receive(message, POD);
    expect(sockets.sent.map(({ to }) => to)).toEqual([POD]);
    expect(read(sockets.sent[0]?.message as Buffer).id).toBe(5);
    expect(server.metrics.text()).toContain('coredns_coxswain_dropped_total{reason="client"} 1');
  });

  test('the server survives arbitrary packets, and no answer is much larger than its question', () => {
    const changes = fc.array(fc.tuple(fc.nat(70), fc.nat(255)), { maxLength: 8 });
    fc.assert(
      fc.property(changes, (list) => {
        const message = query('web.shop.svc.cluster.local', 'A', { udpSize: 4096 });
        for (const [offset, value] of list) if (offset < message.length) message[offset] = value;
        sockets.sent.length = 0;
        sockets.receive(message, POD);
        for (const { message: answer } of sockets.sent) {
          expect(answer.readUInt16BE(0)).toBe(message.readUInt16BE(0));
          expect(answer.readUInt16BE(2) & 0x8000).toBe(0x8000);
          expect(answer.length).toBeLessThanOrEqual(message.length + 150);
        }
      }),
      { numRuns: 500 },
    );
    expect(api.logger.errors).toEqual([]);
  });

  test('a pipeline of queries over TCP, in pieces of any size', async () => {
    const all = Buffer.concat(
      Array.from({ length: 300 }, (_, id) =>
        framed(query('web.shop.svc.cluster.local', 'A', { id })),
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 20 }),
        async (sizes) => {
          const connection = new MemoryConnection();
          sockets.connect(connection);
          for (let at = 0, i = 0; at < all.length; i++) {
            const size = sizes[i % sizes.length]!;
            connection.send(all.subarray(at, at + size));
            at += size;
          }
          await settle(100);
          expect(connection.messages().map((message) => message.readUInt16BE(0))).toEqual(
            Array.from({ length: 300 }, (_, id) => id),
          );
          connection.destroy();
        },
      ),
      { numRuns: 10 },
    );
  });

  test('a client that does not read is disconnected after a bounded number of writes', async () => {
    const connection = new MemoryConnection();
    sockets.connect(connection);
    connection.writable = false;
    connection.send(
      Buffer.concat(
        Array.from({ length: 40 }, () => framed(query('web.shop.svc.cluster.local', 'A'))),
      ),
    );
    expect(connection.written).toHaveLength(1);
    expect(connection.paused).toBe(true);
    await api.clock.advance(4000);
    connection.drain();
    connection.writable = true;
    await settle();
    expect(connection.written).toHaveLength(40);
    connection.writable = false;
    connection.send(framed(query('web.shop.svc.cluster.local', 'A')));
    await api.clock.advance(5001);
    expect(connection.destroyed).toBe(true);
  });

  test('a client that sends nothing, or never a complete message, is disconnected', async () => {
    const [silent, slow] = [new MemoryConnection(), new MemoryConnection()];
    sockets.connect(silent);
    sockets.connect(slow);
    for (let i = 0; i < 11; i++) {
      slow.send(Buffer.from([1]));
      await api.clock.advance(1000);
    }
    expect([silent.destroyed, slow.destroyed]).toEqual([true, true]);
  });

  test('connections are limited per client', () => {
    const connections = Array.from({ length: 120 }, () => new MemoryConnection());
    for (const connection of connections) sockets.connect(connection);
    expect(connections.filter(({ destroyed }) => destroyed)).toHaveLength(20);
    const other = new MemoryConnection('10.244.0.10');
    sockets.connect(other);
    expect(other.destroyed).toBe(false);
    connections[0]?.destroy();
    const next = new MemoryConnection();
    sockets.connect(next);
    expect(next.destroyed).toBe(false);
    const stranger = new MemoryConnection('203.0.113.5');
    sockets.connect(stranger);
    expect(stranger.destroyed).toBe(true);
  });
});

describe('configuration', () => {
  const A = (name: string, data: string, ttl = 60): Answer => ({ name, type: 'A', ttl, data });
  const configure = async (data: Record<string, string>): Promise<void> => {
    const inSystem = api.client.resource(configMaps).namespace('kube-system');
    await inSystem.delete('cluster-dns').catch(() => undefined);
    await inSystem.create({ metadata: { name: 'cluster-dns' }, data });
    await settle();
  };

  beforeEach(async () => {
    sockets.resolvConf = 'nameserver 192.0.2.1\nsearch example.org\n';
    sockets.servers.set('192.0.2.1:53', (message) => [
      answerTo(message, { answers: [A('example.com', '198.51.100.1')] }),
    ]);
    sockets.servers.set('192.0.2.9:5353', (message) => [
      answerTo(message, { answers: [A('db.corp.test', '198.51.100.9')] }),
    ]);
    await shop();
    await started();
  });

  test('names outside of the cluster come from the name servers of the node', async () => {
    expect(await ask('example.com', 'A')).toMatchObject({
      answers: ['example.com 30 A 198.51.100.1'],
      authoritative: false,
    });
  });

  test('stub domains, other name servers and hosts, and changes of them', async () => {
    await configure({
      stubDomains: '{"corp.test": ["192.0.2.9:5353"]}',
      hosts: '198.51.100.7 printer.test printer # upstairs\nfd00::7 printer.test\n',
    });
    expect((await ask('db.corp.test', 'A')).answers).toEqual(['db.corp.test 30 A 198.51.100.9']);
    expect((await ask('printer.test', 'A')).answers).toEqual(['printer.test 5 A 198.51.100.7']);
    expect((await ask('printer.test', 'AAAA')).answers).toEqual(['printer.test 5 AAAA fd00::7']);
    expect((await ask('7.100.51.198.in-addr.arpa', 'PTR')).answers.toSorted()).toEqual([
      '7.100.51.198.in-addr.arpa 5 PTR printer',
      '7.100.51.198.in-addr.arpa 5 PTR printer.test',
    ]);
    await configure({ upstreamNameservers: '["192.0.2.9:5353"]' });
    sockets.asked.length = 0;
    await ask('printer.test', 'A');
    expect(sockets.asked.map(({ server: at }) => at)).toEqual(['192.0.2.9:5353']);
    await api.client.resource(configMaps).namespace('kube-system').delete('cluster-dns');
    await settle();
    expect((await ask('example.com', 'A')).rcode).toBe('NOERROR');
  });

  test.each([
    [
      { stubDomain: '{}' },
      'unknown key "stubDomain": known are stubDomains, upstreamNameservers, hosts',
    ],
    [{ stubDomains: '[]' }, 'stubDomains: not a JSON object'],
    [{ stubDomains: '{"a..b": ["192.0.2.1"]}' }, 'stubDomains: "a..b" is not a DNS name'],
    [
      { stubDomains: '{"x.cluster.local": ["192.0.2.1"]}' },
      'stubDomains: "x.cluster.local" belongs to the cluster\'s domain',
    ],
    [
      { stubDomains: '{"corp.test": "192.0.2.1"}' },
      'stubDomains: "corp.test": not a JSON array of addresses',
    ],
    [{ upstreamNameservers: '["dns.example.com"]' }, '"dns.example.com" is not an address such as'],
    [{ upstreamNameservers: '["192.0.2.1:99999"]' }, '"192.0.2.1:99999" is not an address such as'],
    [{ hosts: '1.2.3.4\n' }, 'hosts: line 1: there is no name after 1.2.3.4'],
    [{ hosts: '\nweb 1.2.3.4' }, 'hosts: line 2: "web" is not an IP address'],
  ])('%j is refused, and what was before stays', async (data, problem) => {
    const reasons: unknown[] = [];
    api.logger.error = (_message, values) =>
      void reasons.push((values as { reason?: unknown } | undefined)?.reason);
    await configure(data);
    expect(reasons.join()).toContain(problem);
    expect((await ask('example.com', 'A')).answers).toHaveLength(1);
    expect(server.metrics.text()).toContain('coredns_reload_failed_total 1');
  });

  test('an alias to a name outside of the cluster is followed', async () => {
    await create({
      metadata: { name: 'mail' },
      spec: { type: 'ExternalName', externalName: 'example.com' },
    });
    await settle();
    expect((await inShop('mail', 'A')).answers).toEqual([
      'mail.shop.svc.cluster.local 5 CNAME example.com',
      'example.com 30 A 198.51.100.1',
    ]);
    expect((await inShop('mail', 'CNAME')).answers).toEqual([
      'mail.shop.svc.cluster.local 5 CNAME example.com',
    ]);
  });
});
