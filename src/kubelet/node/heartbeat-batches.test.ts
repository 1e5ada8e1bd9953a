import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { type HeartbeatBatch, HeartbeatBatches } from './heartbeat-batches.ts';
import type { Heartbeat } from './heartbeats.ts';

const PERIOD_MS = 10_000;
const TICK_MS = 250;

interface Started {
  readonly batches: HeartbeatBatches;
  readonly clock: VirtualClock;
  readonly sent: HeartbeatBatch[];
  readonly released: [node: string, nextDue: number][];
  /** Nodes whose renewals are refused. */
  readonly refused: Set<string>;
  /** Answers wait until it is called. */
  hold(): () => void;
  keep(node: string, nextDue: number, leaseDurationSeconds?: number): () => void;
  renewedAt(node: string): number | undefined;
}

function start(): Started {
  const clock = new VirtualClock();
  const sent: HeartbeatBatch[] = [];
  const released: [string, number][] = [];
  const refused = new Set<string>();
  let held = Promise.resolve();
  const batches = new HeartbeatBatches({
    clock,
    tickMs: TICK_MS,
    make: async (batch) => {
      sent.push(batch);
      await held;
      return batch.nodes.filter((node) => refused.has(node));
    },
  });
  return {
    batches,
    clock,
    sent,
    released,
    refused,
    renewedAt: (node) => batches.renewedAt(node),
    hold: () => {
      const { promise, resolve } = withResolvers();
      held = promise;
      return resolve;
    },
    keep: (nodeName, nextDue, leaseDurationSeconds = 40) =>
      batches.takeOver(
        { kind: 'lease', nodeName, nextDue, periodMs: PERIOD_MS, leaseDurationSeconds },
        (next) => released.push([nodeName, next]),
      )!,
  };
}

test('nodes of one instant are renewed by one call, each period', async () => {
  const { clock, sent, keep, released } = start();
  keep('a', 1000.25);
  keep('b', 1001.25);
  keep('c', 1250.5);
  await clock.advance(12_000);
  expect(sent.map(({ nodes }) => nodes)).toEqual([['a', 'b'], ['c'], ['a', 'b'], ['c']]);
  expect(sent.map(({ atMs }) => atMs - sent[0]!.atMs)).toEqual([0, 250, 10_000, 10_250]);
  expect(released).toEqual([]);
});

test('Leases with other durations are renewed by other calls', async () => {
  const { clock, sent, keep } = start();
  keep('a', 1000);
  keep('b', 1000, 60);
  await clock.advance(1000);
  expect(sent.map(({ nodes, leaseDurationSeconds }) => [nodes, leaseDurationSeconds])).toEqual([
    [['a'], 40],
    [['b'], 60],
  ]);
});

test('a refused renewal is left to the kubelet at once', async () => {
  const { clock, sent, keep, released, refused } = start();
  refused.add('b');
  keep('a', 1000);
  keep('b', 1000);
  await clock.advance(1000);
  expect(released).toEqual([['b', 1000]]);
  await clock.advance(PERIOD_MS);
  expect(sent.map(({ nodes }) => nodes)).toEqual([['a', 'b'], ['a']]);
});

test('the time of a renewal is known once it is stored, and stays so', async () => {
  const { clock, keep, refused, renewedAt, hold } = start();
  const resume = hold();
  refused.add('b');
  const end = keep('a', 1000);
  keep('b', 1000);
  await clock.advance(1500);
  expect(renewedAt('a')).toBeUndefined();
  resume();
  await clock.advance(0);
  expect(renewedAt('a')).toBe(1000);
  expect(renewedAt('b')).toBeUndefined();
  end();
  expect(renewedAt('a')).toBe(1000);
  keep('a', 20_000);
  expect(renewedAt('a')).toBe(1000);
});

test('renewals end', async () => {
  const { clock, sent, keep, released } = start();
  const end = keep('a', 1000);
  end();
  end();
  expect(released).toEqual([['a', 1000]]);
  await clock.advance(PERIOD_MS);
  expect(sent).toEqual([]);
});

test('an end waits for the renewal in flight', async () => {
  const { clock, keep, released, hold } = start();
  const resume = hold();
  const end = keep('a', 1000);
  await clock.advance(1000);
  end();
  expect(released).toEqual([]);
  resume();
  await clock.advance(0);
  expect(released).toEqual([['a', 1000 + PERIOD_MS]]);
});

test('renewals that were missed while an answer was late are left out', async () => {
  const { clock, sent, keep, hold } = start();
  const resume = hold();
  keep('a', 1000);
  await clock.advance(35_000);
  expect(sent).toHaveLength(1);
  resume();
  await clock.advance(0);
  await clock.advance(5999);
  expect(sent).toHaveLength(1);
  await clock.advance(1);
  expect(sent).toHaveLength(2);
});

test('a renewal that is late already is made at once', async () => {
  const { clock, sent, keep } = start();
  await clock.advance(5000);
  keep('a', 1000);
  await clock.advance(0);
  expect(sent).toHaveLength(1);
});

describe('a status', () => {
  const status = (nodeName: string, version?: string): Heartbeat => ({
    kind: 'status',
    nodeName,
    nextDue: 1000,
    periodMs: 300_000,
    ...(version !== undefined && { version }),
  });

  test('is reported with those of other nodes, beside their Leases', async () => {
    const { clock, sent, keep, batches, refused, released } = start();
    keep('a', 1000);
    expect(batches.takeOver(status('a'), () => undefined)).toBeUndefined();
    for (const [node, version] of [
      ['a', '7'],
      ['b', '8'],
    ] as const)
      batches.takeOver(status(node, version), (next) => released.push([node, next]));
    await clock.advance(1000);
    expect(sent.map(({ kind, nodes, versions }) => [kind, nodes, versions])).toEqual([
      ['lease', ['a'], undefined],
      ['status', ['a', 'b'], ['7', '8']],
    ]);
    refused.add('b');
    await clock.advance(300_000);
    expect(released).toEqual([['b', 301_000]]);
    expect(sent.filter(({ kind }) => kind === 'status')).toHaveLength(2);
  });

  test('is given back at once, even if one is in flight', async () => {
    const { clock, batches, hold, released, sent } = start();
    const resume = hold();
    const end = batches.takeOver(status('a', '7'), (next) => released.push(['a', next]))!;
    await clock.advance(1000);
    end();
    expect(released).toEqual([['a', 1000]]);
    resume();
    await clock.advance(600_000);
    expect(released).toHaveLength(1);
    expect(sent).toHaveLength(1);
  });
});
