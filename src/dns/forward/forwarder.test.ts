import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { decode, type Answer } from 'dns-packet';
import { RecordingLogger } from '#apiserver/testing/server.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { CLUSTER_CACHE, FORWARD_DEFAULTS } from '../configuration.ts';
import { DnsMetrics } from '../metrics.ts';
import { MemorySockets } from '../testing/memory-sockets.ts';
import { answerTo, query } from '../testing/queries.ts';
import { RCODE } from '../wire/types.ts';
import { Forwarder, type ForwarderConfig } from './forwarder.ts';
import { parseServer, serversIn } from './resolv-conf.ts';
import { skim } from './skim.ts';
import type { Ask } from './upstream.ts';

const ONE = { address: '192.0.2.1', port: 53 };
const TWO = { address: '192.0.2.2', port: 53 };

let clock: VirtualClock;
let sockets: MemorySockets;
let metrics: DnsMetrics;
let logger: RecordingLogger;

beforeEach(() => {
  clock = new VirtualClock();
  sockets = new MemorySockets();
  metrics = new DnsMetrics();
  logger = new RecordingLogger();
});

const forwarder = (...servers: readonly { address: string; port: number }[]): Forwarder =>
  forwarderWith({}, ...servers);

const forwarderWith = (
  settings: Partial<ForwarderConfig['settings']>,
  ...servers: readonly { address: string; port: number }[]
): Forwarder =>
  new Forwarder({
    servers,
    settings: { ...FORWARD_DEFAULTS, cache: CLUSTER_CACHE, ...settings },
    sockets,
    clock,
    random: new SeededRandom('forward'),
    logger,
    metrics,
  });

const ask = (name: string, options: Partial<Ask> = {}): Ask => ({
  question: query(name, 'A').subarray(12),
  dnssecOk: false,
  checkingDisabled: false,
  complete: false,
  ...options,
});

const A = (name: string, ttl: number): Answer => ({ name, type: 'A', ttl, data: '198.51.100.1' });
const SOA: Answer = {
  name: 'test',
  type: 'SOA',
  ttl: 100,
  data: {
    mname: 'ns.test',
    rname: 'h.test',
    serial: 1,
    refresh: 1,
    retry: 1,
    expire: 1,
    minimum: 10,
  },
};

/** Returns the TTL of the first record, which belongs to a.test and has its name uncompressed. */
const ttlIn = (bytes: Buffer): number => bytes.readUInt32BE(12);

test('uses its own query ID, caches the answer, and counts its TTL down', async () => {
  sockets.servers.set('192.0.2.1:53', (message) => [
    answerTo(message, { answers: [A('a.test', 20)] }),
  ]);
  const forward = forwarder(ONE);
  expect(forward.cached(ask('a.test'))).toBeUndefined();
  expect(await forward.resolve(ask('a.test'))).toMatchObject({
    rcode: 0,
    counts: [1, 0, 0],
    cached: false,
  });
  await clock.advance(7000);
  const kept = forward.cached(ask('A.Test'));
  expect(kept).toMatchObject({ cached: true });
  expect(ttlIn(kept?.bytes as Buffer)).toBe(13);
  await clock.advance(13_000);
  expect(forward.cached(ask('a.test'))).toBeUndefined();
  expect(forward.cacheSizes).toEqual({ success: 1, denial: 0 });
});

test('a long TTL is cut to 30 s, for the client too', async () => {
  sockets.servers.set('192.0.2.1:53', (message) => [
    answerTo(message, { answers: [A('a.test', 86_400)] }),
  ]);
  const forward = forwarder(ONE);
  expect(ttlIn((await forward.resolve(ask('a.test'))).bytes)).toBe(30);
  await clock.advance(29_999);
  expect(forward.cached(ask('a.test'))).toBeDefined();
  await clock.advance(1);
  expect(forward.cached(ask('a.test'))).toBeUndefined();
});

test('NXDOMAIN is cached for the time of its SOA record, and not at all without one', async () => {
  sockets.servers.set('192.0.2.1:53', (message) => [
    answerTo(message, {
      rcode: 3,
      authorities: decode(message).questions?.[0]?.name === 'a.test' ? [SOA] : [],
    }),
  ]);
  const forward = forwarder(ONE);
  await forward.resolve(ask('a.test'));
  await forward.resolve(ask('b.test'));
  expect(forward.cached(ask('b.test'))).toBeUndefined();
  await clock.advance(9000);
  expect(forward.cached(ask('a.test'))).toMatchObject({ rcode: RCODE.NXDOMAIN, counts: [0, 1, 0] });
  await clock.advance(1000);
  expect(forward.cached(ask('a.test'))).toBeUndefined();
});

test('types whose numbers look like letters of the other case are distinguished', async () => {
  sockets.servers.set('192.0.2.1:53', (message) => [
    answerTo(message, { answers: [A('a.test', 20)] }),
  ]);
  const forward = forwarder(ONE);
  const [upper, lower] = [ask('a.test').question, ask('a.test').question];
  upper.writeUInt16BE(65, upper.length - 4);
  lower.writeUInt16BE(97, lower.length - 4);
  await forward.resolve(ask('a.test', { question: upper }));
  expect(forward.cached(ask('a.test', { question: upper }))).toBeDefined();
  expect(forward.cached(ask('a.test', { question: lower }))).toBeUndefined();
});

test('forged answers are ignored: another ID, another question, no answer at all', async () => {
  sockets.servers.set('192.0.2.1:53', (message) => {
    const { id = 0 } = decode(message);
    const genuine = answerTo(message, { answers: [A('a.test', 20)] });
    const question = Buffer.from(genuine);
    question[13] = 'b'.charCodeAt(0);
    const asQuery = Buffer.from(genuine);
    asQuery[2] = 0;
    return [
      answerTo(message, { answers: [A('a.test', 99)], id: (id + 1) & 0xffff }),
      question,
      asQuery,
      genuine.subarray(0, genuine.length - 1),
      genuine,
    ];
  });
  expect(ttlIn((await forwarder(ONE).resolve(ask('a.test'))).bytes)).toBe(20);
});

test('query IDs are spread over their whole range', async () => {
  sockets.servers.set('192.0.2.1:53', (message) => [answerTo(message, { rcode: 3 })]);
  const forward = forwarder(ONE);
  for (let i = 0; i < 200; i++) await forward.resolve(ask(`n${i}.test`));
  const ids = sockets.asked.map(({ message }) => message.readUInt16BE(0));
  expect(new Set(ids).size).toBeGreaterThan(195);
  expect(Math.max(...ids) - Math.min(...ids)).toBeGreaterThan(60_000);
});

test('a silent server costs two seconds; then it is down, and is probed until it is back', async () => {
  sockets.servers.set('192.0.2.2:53', (message) => [
    answerTo(message, { answers: [A('a.test', 20)] }),
  ]);
  const forward = forwarder(ONE, TWO);
  const [one] = forward.upstreams;
  for (let i = 0; i < 50; i++) {
    if (one?.healthy === false) break;
    const resolving = forward.resolve(ask(`n${i}.test`));
    await clock.advance(2500);
    expect((await resolving).rcode).toBe(0);
  }
  expect(one?.healthy).toBe(false);
  sockets.asked.length = 0;
  for (let i = 0; i < 20; i++) await forward.resolve(ask(`m${i}.test`));
  expect(sockets.asked.every(({ server }) => server === '192.0.2.2:53')).toBe(true);
  sockets.servers.set('192.0.2.1:53', (message) => [answerTo(message, { rcode: 5 })]);
  await clock.advance(3000);
  expect(one?.healthy).toBe(true);
});

test('without any answer the client gets SERVFAIL in time, and the failure is cached for a second', async () => {
  const forward = forwarder(ONE, TWO);
  const resolving = forward.resolve(ask('a.test'));
  await clock.advance(4500);
  expect(await resolving).toMatchObject({ rcode: RCODE.SERVFAIL, counts: [0, 0, 0] });
  expect(forward.cached(ask('a.test'))).toMatchObject({ rcode: RCODE.SERVFAIL });
  await clock.advance(1000);
  expect(forward.cached(ask('a.test'))).toBeUndefined();
  forward.close();
});

test('without a server there is SERVFAIL at once', async () => {
  expect((await forwarder().resolve(ask('a.test'))).rcode).toBe(RCODE.SERVFAIL);
});

test('identical questions are asked once, and different ones are bounded', async () => {
  const forward = forwarder(ONE);
  const same = Array.from({ length: 20 }, () => forward.resolve(ask('a.test')));
  expect(sockets.asked).toHaveLength(1);
  const others = Array.from({ length: 600 }, (_, i) => forward.resolve(ask(`n${i}.test`)));
  expect(sockets.asked).toHaveLength(512);
  expect((await others.at(-1)!).rcode).toBe(RCODE.REFUSED);
  await clock.advance(10_000);
  await Promise.all([...same, ...others]);
  expect(metrics.text()).toContain('coredns_forward_max_concurrent_rejects_total 89');
  forward.close();
});

test('a truncated answer is requested again over TCP if the client needs all of it, and is not cached', async () => {
  sockets.servers.set('192.0.2.1:53', (message, tcp) => [
    tcp
      ? answerTo(message, { answers: [A('a.test', 20)] })
      : answerTo(message, { truncated: true }),
  ]);
  const forward = forwarder(ONE);
  expect((await forward.resolve(ask('a.test'))).flags & 0x0200).toBe(0x0200);
  expect(forward.cached(ask('a.test'))).toBeUndefined();
  expect((await forward.resolve(ask('a.test', { complete: true }))).counts).toEqual([1, 0, 0]);
  expect(forward.cached(ask('a.test'))).toBeDefined();
});

test('a server that loops back to this process is not used', async () => {
  const forward = forwarder(ONE, TWO);
  sockets.servers.set('192.0.2.2:53', (message) => [answerTo(message, { rcode: 3 })]);
  const errors: string[] = [];
  logger.error = (message) => void errors.push(message);
  sockets.servers.set('192.0.2.1:53', (message) => {
    const [question] = decode(message).questions ?? [];
    expect(forward.noticeLoop([question?.name ?? ''], 13)).toBe(true);
    return [answerTo(message, { rcode: 2 })];
  });
  await forward.detectLoops();
  expect(errors).toEqual(['upstream DNS server forwards to this server, ignoring it']);
  sockets.asked.length = 0;
  for (let i = 0; i < 10; i++) await forward.resolve(ask(`n${i}.test`));
  expect(sockets.asked.every(({ server }) => server === '192.0.2.2:53')).toBe(true);
  // A name that is not a probe of this server is an ordinary question.
  expect(forward.noticeLoop(['0123456789abcdef0123456789abcdef'], 13)).toBe(false);
});

test('answers of arbitrary bytes are judged without an error', () => {
  const question = ask('a.test').question;
  const genuine = answerTo(query('a.test', 'A', { id: 7 }), {
    answers: [A('a.test', 20)],
    authorities: [SOA],
  });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(120), fc.nat(255)), { maxLength: 10 }),
      fc.nat(60),
      (changes, cut) => {
        const message = Buffer.from(genuine.subarray(0, genuine.length - Math.max(0, cut - 30)));
        for (const [offset, value] of changes) if (offset < message.length) message[offset] = value;
        const skimmed = skim(message, 7, question);
        if (skimmed === undefined) return;
        expect(skimmed.recordsEnd).toBeLessThanOrEqual(message.length);
        for (const offset of skimmed.ttlOffsets)
          expect(offset + 4).toBeLessThanOrEqual(skimmed.recordsEnd);
      },
    ),
  );
});

test('servers of resolv.conf, and of the configuration', () => {
  expect(
    serversIn(
      '# x\nnameserver 192.0.2.1\nnameserver  192.0.2.1\nnameserver x\nsearch a\nnameserver fe80::1%eth0\n',
    ),
  ).toEqual([
    { address: '192.0.2.1', port: 53 },
    { address: 'fe80::1%eth0', port: 53 },
  ]);
  expect(parseServer('fd00::1')).toEqual({ address: 'fd00::1', port: 53 });
  expect(parseServer('[fd00::1]:5353')).toEqual({ address: 'fd00::1', port: 5353 });
  for (const text of [
    '',
    'a',
    '1.2.3',
    '1.2.3.4:',
    '1.2.3.4:0',
    '[1.2.3.4',
    'fd00::1:x',
    '1.2.3.4:99999',
  ]) {
    expect(parseServer(text)).toBeUndefined();
  }
});
