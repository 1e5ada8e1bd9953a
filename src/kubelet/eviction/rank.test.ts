// The ranking against an oracle that follows the rules word by word: repeatedly, the pod goes that no
// remaining one precedes.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import { podUid, type Pod } from '../types.ts';
import type { PodStats } from './pod-stats.ts';
import { rankPods } from './rank.ts';

const MI = 1024 ** 2;
const LAYOUT = { dedicatedImageFs: false, splitContainerFs: false };

interface Sample {
  readonly used: number;
  readonly requested: number;
  readonly priority: number;
  readonly known: boolean;
}

const samples = fc.array(
  fc.record<Sample>({
    used: fc.nat(40),
    requested: fc.nat(40),
    priority: fc.integer({ min: -1, max: 1 }),
    known: fc.boolean(),
  }),
  { maxLength: 12 },
);

function podOf({ requested, priority }: Sample, index: number): Pod {
  const requests = { memory: `${requested}Mi`, 'ephemeral-storage': `${requested}Mi` };
  return makePod({
    metadata: { uid: String(index) },
    spec: { priority, containers: [makeContainer('main', { resources: { requests } })] },
    status: {},
  });
}

const statsOf = ({ used }: Sample): PodStats => ({
  memoryBytes: used * MI,
  processes: used,
  containers: [{ name: 'main', rootfs: { usedBytes: used * MI, inodesUsed: used } }],
  volumes: new Map(),
});

/** Returns the order in which the samples have to go. */
function oracle(all: readonly Sample[], byExcess: boolean): number[] {
  const key = ({ known, used, requested, priority }: Sample): number[] => {
    // Without statistics first, then above the request, then the lowest priority, then the most.
    if (byExcess)
      return [known ? 1 : 0, known && used <= requested ? 1 : 0, priority, requested - used];
    return [priority, known ? 1 : 0, -used];
  };
  const left = all.map((_, index) => index);
  const order: number[] = [];
  while (left.length > 0) {
    const keys = left.map((index) => ({ index, values: key(all[index] as Sample) }));
    const next = keys.reduce((best, one) => {
      const position = one.values.findIndex((value, place) => value !== best.values[place]);
      if (position < 0) return best;
      return (one.values[position] ?? 0) < (best.values[position] ?? 0) ? one : best;
    });
    order.push(next.index);
    left.splice(left.indexOf(next.index), 1);
  }
  return order;
}

test.each([
  ['memory.available', true],
  ['nodefs.available', true],
  ['pid.available', false],
] as const)('%s: the order is that of the rules', (signal, byExcess) => {
  fc.assert(
    fc.property(samples, (all) => {
      // Pods without statistics are compared by these alone where usage decides: so all of a kind
      // keep their order, whatever their priority.
      const some = byExcess ? all.map((one) => ({ ...one, known: true })) : all;
      const stats = new Map(
        some.flatMap((one, index) => (one.known ? [[String(index), statsOf(one)] as const] : [])),
      );
      const ranked = rankPods(some.map(podOf), stats, signal, LAYOUT).map(podUid).map(Number);
      const used = (index: number): number => some[index]?.used ?? 0;
      const wanted = oracle(
        some.map((one) => (one.known ? one : { ...one, used: 0 })),
        byExcess,
      );
      expect(
        ranked.map((index) => [some[index]?.priority, some[index]?.known, used(index)]),
      ).toEqual(wanted.map((index) => [some[index]?.priority, some[index]?.known, used(index)]));
    }),
    { numRuns: 500 },
  );
});

test('a pod without statistics precedes all others', () => {
  const all = [
    { used: 40, requested: 0, priority: 0, known: true },
    { used: 0, requested: 40, priority: 1, known: false },
  ];
  const stats = new Map([['0', statsOf(all[0] as Sample)]]);
  expect(rankPods(all.map(podOf), stats, 'memory.available', LAYOUT).map(podUid)).toEqual([
    '1',
    '0',
  ]);
});
