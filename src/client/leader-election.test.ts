import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { ApiServer } from '#apiserver/server.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import type { Client } from './client.ts';
import { createClient } from './create-client.ts';
import { createInProcessTransport } from './in-process.ts';
import { LeaderElector } from './leader-election.ts';
import { formatMicroTime } from '#machinery/text/time.ts';

const LEASES = { group: 'coordination.k8s.io', resource: 'leases' };
let clock: VirtualClock;
let server: ApiServer;
let client: Client;
/** Candidates whose requests fail, as if the network were down. */
let cutOff: Set<string>;
/** Candidates whose writes succeed without a response. */
let unanswered: Set<string>;
/** Candidates that may not watch leases. */
let withoutWatch: Set<string>;
/** The candidates that have asked for a watch. */
let watches: string[];
let leading: string[];
let electors: { readonly stop: AbortController; readonly run: Promise<void> }[];

beforeEach(async () => {
  clock = new VirtualClock();
  const logger = recordingLogger();
  server = new ApiServer({
    storage: createMemoryStorage({ clock, logger }),
    clock,
    logger,
    random: new SeededRandom(1),
  });
  await server.start();
  client = clientOf('test');
  cutOff = new Set();
  unanswered = new Set();
  withoutWatch = new Set();
  watches = [];
  leading = [];
  electors = [];
});
afterEach(async () => {
  for (const { stop } of electors) stop.abort();
  await Promise.all(electors.map(({ run }) => run));
  const stopping = server.stop();
  await clock.advance('1m');
  await stopping;
});

function clientOf(name: string): Client {
  const handler = server.inProcess({ name: 'system:admin', groups: ['system:masters'] });
  const transport = createInProcessTransport({
    handler: async (request) => {
      if (cutOff.has(name)) throw apierrors.serviceUnavailable('cut off');
      if (request.query.get('watch') !== null) {
        watches.push(name);
        if (withoutWatch.has(name)) throw apierrors.forbidden(LEASES, 'test', 'no watches');
      }
      const answer = await handler(request);
      if (unanswered.has(name) && request.method !== 'GET') await new Promise(() => undefined);
      return answer;
    },
  });
  return createClient(transport);
}

function candidate(identity: string, change: { readonly releaseOnStop?: boolean } = {}) {
  const seen: string[] = [];
  const elector = new LeaderElector({
    client: clientOf(identity),
    clock,
    random: new SeededRandom(identity),
    logger: recordingLogger(),
    namespace: 'kube-system',
    name: 'test',
    identity,
    onNewLeader: (leader) => seen.push(leader),
    onStartedLeading: async (signal) => {
      leading.push(identity);
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve());
        if (signal.aborted) resolve();
      });
      leading.splice(leading.indexOf(identity), 1);
    },
    ...change,
  });
  const stop = new AbortController();
  const run = elector.run(stop.signal);
  electors.push({ stop, run });
  return { elector, stop, run, seen };
}

const lease = async () => (await client.resource(leases).namespace('kube-system').get('test')).spec;

describe('LeaderElector', () => {
  test('one candidate leads and renews, and the others observe it', async () => {
    const a = candidate('a');
    await clock.settle();
    const b = candidate('b');
    await clock.advance('1m');
    expect(leading).toEqual(['a']);
    expect([a.elector.isLeader, b.elector.isLeader, b.elector.leader, b.seen]).toEqual([
      true,
      false,
      'a',
      ['a'],
    ]);
    expect(await lease()).toMatchObject({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
    });
    expect((await lease()).acquireTime).toBe('2026-01-01T00:00:00.000000Z');
    expect(((await lease()).renewTime ?? '') > '2026-01-01T00:00:55').toBe(true);
  });

  test('the next leader starts at once when the leader stops and releases', async () => {
    const a = candidate('a');
    await clock.settle();
    const b = candidate('b');
    await clock.settle();
    a.stop.abort();
    await a.run;
    await clock.settle();
    expect(leading).toEqual(['b']);
    expect(b.seen).toEqual(['a', 'b']);
    expect((await lease()).leaseTransitions).toBe(1);
  });

  test('the next leader starts at the next attempt when it may not watch the lease', async () => {
    const a = candidate('a');
    await clock.settle();
    withoutWatch.add('b');
    candidate('b');
    await clock.advance('1m');
    expect(watches).toEqual(['b']);
    a.stop.abort();
    await a.run;
    await clock.settle();
    expect(leading).toEqual([]);
    await clock.advance('5s');
    expect(leading).toEqual(['b']);
  });

  test('one of several waiting candidates leads when the lease is deleted', async () => {
    const a = candidate('a', { releaseOnStop: false });
    await clock.settle();
    candidate('b');
    candidate('c');
    await clock.settle();
    a.stop.abort();
    await a.run;
    await client.resource(leases).namespace('kube-system').delete('test');
    await clock.settle();
    expect(leading).toHaveLength(1);
    await clock.advance('1m');
    expect(leading).toHaveLength(1);
  });

  test('releases also when it is stopped during a renewal with unknown outcome', async () => {
    const a = candidate('a');
    await clock.settle();
    const { renewTime } = await lease();
    unanswered.add('a');
    await clock.advance('3s');
    unanswered.delete('a');
    expect((await lease()).renewTime).not.toBe(renewTime);
    a.stop.abort();
    await a.run;
    expect((await lease()).holderIdentity).toBeUndefined();
  });

  test('releases also when it is stopped while it acquires', async () => {
    unanswered.add('a');
    const a = candidate('a');
    await clock.settle();
    expect((await lease()).holderIdentity).toBe('a');
    unanswered.delete('a');
    a.stop.abort();
    await a.run;
    expect((await lease()).holderIdentity).toBeUndefined();
    expect(leading).toEqual([]);
  });

  test('reads the lease again when its renewal succeeds after the stop', async () => {
    const a = candidate('a');
    await clock.settle();
    const held = await client.resource(leases).namespace('kube-system').get('test');
    // Simulates a renewal that the server performs without a response.
    await clock.advance('1s');
    await client
      .resource(leases)
      .namespace('kube-system')
      .update({ ...held, spec: { ...held.spec, renewTime: formatMicroTime(clock.now()) } });
    a.stop.abort();
    await a.run;
    expect((await lease()).holderIdentity).toBeUndefined();
  });

  test('does not release a lease that another candidate holds', async () => {
    const a = candidate('a');
    await clock.settle();
    const held = await client.resource(leases).namespace('kube-system').get('test');
    await client
      .resource(leases)
      .namespace('kube-system')
      .update({ ...held, spec: { ...held.spec, holderIdentity: 'b' } });
    a.stop.abort();
    await a.run;
    expect((await lease()).holderIdentity).toBe('b');
  });

  test('waits for the lease to expire when the leader dies', async () => {
    const a = candidate('a', { releaseOnStop: false });
    await clock.settle();
    candidate('b');
    await clock.settle();
    a.stop.abort();
    await a.run;
    await clock.advance('14s');
    expect(leading).toEqual([]);
    await clock.advance('10s');
    expect(leading).toEqual(['b']);
  });

  test('stops leading before another candidate can start, when it cannot renew', async () => {
    candidate('a');
    await clock.settle();
    candidate('b');
    await clock.settle();
    cutOff.add('a');
    const history: string[] = [];
    for (let second = 0; second < 40; second++) {
      await clock.advance('1s');
      expect(leading.length).toBeLessThanOrEqual(1);
      const leader = leading[0] ?? 'nobody';
      if (leader !== history.at(-1)) history.push(leader);
    }
    expect(history).toEqual(['a', 'nobody', 'b']);
  });

  test('survives a short outage', async () => {
    candidate('a');
    await clock.settle();
    candidate('b');
    cutOff.add('a');
    await clock.advance('6s');
    cutOff.delete('a');
    await clock.advance('1m');
    expect(leading).toEqual(['a']);
    expect((await lease()).leaseTransitions).toBe(0);
  });

  test('rejects inconsistent durations', () => {
    const make = (change: object) => () =>
      new LeaderElector({
        client,
        clock,
        random: new SeededRandom(1),
        logger: recordingLogger(),
        namespace: 'x',
        name: 'y',
        identity: 'z',
        onStartedLeading: async () => undefined,
        ...change,
      });
    expect(make({ leaseDurationMs: 5000 })).toThrow('leaseDurationMs');
    expect(make({ retryPeriodMs: 9000 })).toThrow('renewDeadlineMs');
    expect(make({ identity: '' })).toThrow('identity');
  });
});
