// A server that a Corefile configures. test/differential/dns compares it with CoreDNS.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RecordType } from 'dns-packet';
import { namespaces, services } from '#api/groups/core/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { SeededRandom } from '#machinery/random.ts';
import { FollowedCorefile } from '../config/corefile/follow.ts';
import { MemoryFiles } from '../testing/memory-files.ts';
import { MemorySockets } from '../testing/memory-sockets.ts';
import { answerTo, query, read, type Read } from '../testing/queries.ts';
import { DnsServer } from './dns-server.ts';

const POD = { address: '10.244.0.9', port: 40_000 };
const PATH = '/etc/coredns/Corefile';

const api = serverPerTest({ serviceCidr: '10.96.0.0/16' });
let sockets: MemorySockets;
let files: MemoryFiles;
let server: DnsServer;
let lines: string[];

beforeEach(async () => {
  await api.client.resource(namespaces).create({ metadata: { name: 'shop' } });
  await api.client
    .resource(services)
    .namespace('shop')
    .create({
      metadata: { name: 'web' },
      spec: { clusterIP: '10.96.1.1', ports: [{ name: 'http', port: 80 }] },
    });
  sockets = new MemorySockets();
  files = new MemoryFiles();
  lines = [];
});

afterEach(async () => {
  await server.stop();
});

async function start(text: string, withCluster = true): Promise<void> {
  files.texts.set(PATH, text);
  const random = new SeededRandom('dns');
  const { logger } = api;
  server = new DnsServer({
    client: withCluster ? api.client : undefined,
    sockets,
    clock: api.clock,
    random,
    logger,
    corefile: await FollowedCorefile.load({
      path: PATH,
      files,
      env: {},
      clock: api.clock,
      random,
      logger,
    }),
    listen: [{ address: '0.0.0.0', port: 53 }],
    readyListen: [{ address: '0.0.0.0', port: 8181 }],
    healthListen: [{ address: '0.0.0.0', port: 8080 }],
    allowedClients: ['10.244.0.0/16'],
    onQueryLine: (line) => void lines.push(line),
  });
  await server.start();
}

const synced = async (): Promise<void> => {
  await api.clock.advance(20);
  await server.waitForSync(AbortSignal.timeout(5000));
};

async function ask(name: string, type: RecordType): Promise<Read> {
  const message = await server.ask(query(name, type), 'udp');
  if (message === undefined) throw new Error('no answer');
  return read(message);
}

/** Makes an upstream server that gives every name the address. */
function upstream(server: string, data: string, ttl = 100): void {
  sockets.servers.set(server, (message) => {
    const [name = ''] = read(message).answers;
    return [answerTo(message, { answers: [{ name, type: 'A', ttl, data }] })];
  });
}

test('a block for the cluster alone: everything else is refused', async () => {
  await start('cluster.local {\n kubernetes {\n ttl 30\n }\n}\n');
  await synced();
  expect((await ask('web.shop.svc.cluster.local', 'A')).answers).toEqual([
    'web.shop.svc.cluster.local 30 A 10.96.1.1',
  ]);
  expect(await ask('1-2-3-4.shop.pod.cluster.local', 'A')).toMatchObject({ rcode: 'NXDOMAIN' });
  expect(await ask('example.test', 'A')).toMatchObject({ rcode: 'REFUSED', authoritative: false });
});

test('a source that has no answer, without a next one', async () => {
  await start('. {\n hosts {\n 192.0.2.1 a.test\n ttl 60\n }\n}\n', false);
  expect((await ask('a.test', 'A')).answers).toEqual(['a.test 60 A 192.0.2.1']);
  expect(await ask('a.test', 'AAAA')).toMatchObject({ rcode: 'NOERROR', answers: [] });
  expect((await ask('1.2.0.192.in-addr.arpa', 'PTR')).answers).toEqual([
    '1.2.0.192.in-addr.arpa 60 PTR a.test',
  ]);
  expect(await ask('b.test', 'A')).toMatchObject({ rcode: 'SERVFAIL', authoritative: false });
});

test('stub domains are server blocks; exceptions go to the next forward', async () => {
  for (const last of [1, 2, 3]) upstream(`192.0.2.${last}:53`, `198.51.100.${last}`);
  await start(`. {
    forward . 192.0.2.1 {
      except special.test
    }
    forward . 192.0.2.2
  }
  acme.test {
    forward . 192.0.2.3
  }`);
  const serverOf = async (name: string): Promise<string | undefined> => {
    await ask(name, 'A');
    return sockets.asked.at(-1)?.server;
  };
  expect(await serverOf('a.example.test')).toBe('192.0.2.1:53');
  expect(await serverOf('a.special.test')).toBe('192.0.2.2:53');
  expect(await serverOf('a.acme.test')).toBe('192.0.2.3:53');
});

test('without cache nothing is cached, and TTLs stay', async () => {
  upstream('192.0.2.1:53', '198.51.100.1', 4000);
  await start('. {\n forward . 192.0.2.1\n}\n');
  const [first] = (await ask('a.test', 'A')).answers;
  expect(first).toContain(' 4000 A 198.51.100.1');
  const before = sockets.asked.length;
  await ask('a.test', 'A');
  expect(sockets.asked.length).toBe(before + 1);
});

test('cache limits TTLs, also of records that are not cached', async () => {
  upstream('192.0.2.1:53', '198.51.100.1', 4000);
  await start(
    '. {\n kubernetes cluster.local {\n ttl 60\n }\n forward . 192.0.2.1\n cache 10\n}\n',
  );
  await synced();
  expect((await ask('web.shop.svc.cluster.local', 'A')).answers[0]).toContain(' 10 A ');
  expect((await ask('a.test', 'A')).answers[0]).toContain(' 10 A ');
  const before = sockets.asked.length;
  await ask('a.test', 'A');
  expect(sockets.asked.length).toBe(before);
});

test('log writes a line for each query of its zone', async () => {
  await start(
    '. {\n hosts {\n 192.0.2.1 a.test\n }\n}\ntest {\n log\n hosts {\n 192.0.2.1 a.test\n }\n}\n',
  );
  sockets.receive(query('a.test', 'A', { id: 7, udpSize: 1232 }), POD);
  sockets.receive(query('a.other', 'A'), POD);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    /^\[INFO\] 10\.244\.0\.9:40000 - 7 "A IN a\.test\. udp 35 false 1232" NOERROR qr,aa,rd \d+ 0\.\d{9}s\n$/,
  );
});

test('/ready waits for the records, /health does not', async () => {
  await start('. {\n kubernetes cluster.local\n}\n');
  expect(sockets.page(8080, '/health')).toMatchObject({ status: 200, text: 'OK' });
  expect(sockets.page(8080, '/ready')).toBeUndefined();
  expect(sockets.page(8181, '/ready')).toMatchObject({ status: 503, text: 'kubernetes' });
  await synced();
  expect(sockets.page(8181, '/ready')).toMatchObject({ status: 200, text: 'OK' });
});

test('a changed file is in force at once, an unusable one is counted', async () => {
  await start('. {\n reload 2s 1s\n hosts {\n 192.0.2.1 a.test\n }\n}\n', false);
  files.texts.set(PATH, '. {\n reload 2s 1s\n hosts {\n 192.0.2.2 a.test\n }\n}\n');
  await api.clock.advance(3000);
  expect((await ask('a.test', 'A')).answers[0]).toContain('192.0.2.2');
  files.texts.set(PATH, 'nonsense\n nonsense');
  await api.clock.advance(3000);
  expect((await ask('a.test', 'A')).answers[0]).toContain('192.0.2.2');
  expect(server.metrics.text()).toContain('coredns_reload_failed_total 1');
  expect(api.logger.errors.splice(0)).toEqual([expect.stringContaining('orefile')]);
});
