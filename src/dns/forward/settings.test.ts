// The settings of a forwarder, which a Corefile may change.

import { beforeEach, expect, test } from 'vitest';
import { decode, type Answer } from 'dns-packet';
import { recordingLogger, type RecordingLogger } from '#machinery/log.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { CLUSTER_CACHE, FORWARD_DEFAULTS } from '../configuration.ts';
import { DnsMetrics } from '../metrics.ts';
import { MemorySockets } from '../testing/memory-sockets.ts';
import { answerTo, query } from '../testing/queries.ts';
import { RCODE } from '../wire/types.ts';
import { Forwarder, type ForwarderConfig } from './forwarder.ts';
import type { Ask } from './upstream.ts';

const SERVERS = [1, 2, 3].map((last) => ({ address: `192.0.2.${last}`, port: 53 }));

let clock: VirtualClock;
let sockets: MemorySockets;
let logger: RecordingLogger;

beforeEach(() => {
  clock = new VirtualClock();
  sockets = new MemorySockets();
  logger = recordingLogger();
});

const forwarder = (settings: Partial<ForwarderConfig['settings']>, count = 1): Forwarder =>
  new Forwarder({
    servers: SERVERS.slice(0, count),
    settings: { ...FORWARD_DEFAULTS, ...settings },
    sockets,
    clock,
    random: new SeededRandom('settings'),
    logger,
    metrics: new DnsMetrics(),
  });

const ask = (name: string): Ask => ({
  question: query(name, 'A').subarray(12),
  dnssecOk: false,
  checkingDisabled: false,
  complete: false,
});

/** Makes all servers answer with an address of this TTL. */
function answering(ttl = 100): void {
  for (const { address } of SERVERS)
    sockets.servers.set(`${address}:53`, (message) => {
      const name = decode(message).questions?.[0]?.name ?? '';
      const answer: Answer = { name, type: 'A', ttl, data: '198.51.100.1' };
      return [answerTo(message, { answers: [answer] })];
    });
}

const askedServers = (): readonly string[] =>
  sockets.asked.map(({ server }) => server.replace('192.0.2.', '').replace(':53', ''));

test('round_robin asks the servers in turn, sequential always the first', async () => {
  answering();
  const inTurn = forwarder({ policy: 'round_robin' }, 3);
  for (const name of ['a', 'b', 'c', 'd']) await inTurn.resolve(ask(name));
  expect(askedServers()).toEqual(['1', '2', '3', '1']);
  sockets.asked.length = 0;
  const first = forwarder({ policy: 'sequential' }, 3);
  for (const name of ['a', 'b', 'c']) await first.resolve(ask(name));
  expect(askedServers()).toEqual(['1', '1', '1']);
});

test('TCP only', async () => {
  answering();
  await forwarder({ tcp: true }).resolve(ask('a'));
  expect(sockets.asked.map(({ tcp }) => tcp)).toEqual([true]);
});

test('more questions in flight than the limit are refused', async () => {
  const forward = forwarder({ maxConcurrent: 1 });
  const first = forward.resolve(ask('a'));
  expect(await forward.resolve(ask('b'))).toMatchObject({ rcode: RCODE.REFUSED });
  await clock.advance('10s');
  await first;
});

test('a server is down after so many failures, or never', async () => {
  for (const [maxFailures, healthy] of [
    [3, false],
    [0, true],
    [4, true],
  ] as const) {
    const forward = forwarder({ maxFailures });
    for (const name of ['a', 'b', 'c']) {
      const answer = forward.resolve(ask(name));
      await clock.advance('2s');
      await answer;
    }
    expect(forward.upstreams[0]?.healthy, `maxFailures ${maxFailures}`).toBe(healthy);
    forward.close();
  }
});

test('a server that is down is probed by the interval', async () => {
  const forward = forwarder({ maxFailures: 1, probeIntervalMs: 10_000 });
  const answer = forward.resolve(ask('a'));
  await clock.advance('2s');
  await answer;
  sockets.asked.length = 0;
  await clock.advance(9000);
  expect(sockets.asked).toHaveLength(0);
  await clock.advance(1000);
  expect(sockets.asked).toHaveLength(1);
  forward.close();
});

test('that no server answers is logged as an error where that is asked for', async () => {
  for (const logsFailures of [false, true]) {
    const answer = forwarder({ logsFailures }).resolve(ask('a.test'));
    await clock.advance('2s');
    await answer;
  }
  const records = logger.records.filter(({ message }) => message.startsWith('no upstream'));
  expect(records.map(({ level }) => level)).toEqual(['debug', 'error']);
  expect(records[1]?.values).toMatchObject({ name: 'a.test.' });
});

test('a cache leaves out zones, and raises short TTLs', async () => {
  answering(1);
  const limits = { ...CLUSTER_CACHE.success, minTtl: 5, except: [['out', 'test']] };
  const forward = forwarder({
    cache: { ...CLUSTER_CACHE, zones: [['test']], success: limits },
  });
  const names = ['a.test', 'a.out.test', 'a.other'];
  for (const name of names) await forward.resolve(ask(name));
  await clock.advance(4000);
  expect(names.map((name) => forward.cached(ask(name)) !== undefined)).toEqual([
    true,
    false,
    false,
  ]);
});
