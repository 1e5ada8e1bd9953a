import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Snapshot } from '#scheduler/cache/snapshot.ts';
import type { PodSelection } from '#scheduler/framework/snapshot.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import { makeNodeInfo, makePodInfo } from '#scheduler/testing/objects.ts';
import { DomainLayout } from './domain-layout.ts';
import { topologyValue } from './labels.ts';
import { DomainCounts, DomainTally, NodeTally } from './tally.ts';
import { TallyCache } from './tally-cache.ts';

const ZONE = 'zone';
const domainOf = ({ node }: NodeInfo): string | undefined => topologyValue(node, ZONE);
const every: PodSelection = { selects: () => true, label: undefined };

const pods = ['a', 'b', 'c', 'd'].map((name) => makePodInfo(name));
function nodeWith(index: number, zone: string | undefined, count: number): NodeInfo {
  return makeNodeInfo(
    `n${index}`,
    zone === undefined ? {} : { labels: { [ZONE]: zone } },
    pods.slice(0, count),
  );
}

function snapshotOf(nodes: readonly NodeInfo[]): Snapshot {
  const snapshot = new Snapshot();
  restructure(snapshot, nodes);
  return snapshot;
}

function restructure(snapshot: Snapshot, nodes: readonly NodeInfo[]): void {
  snapshot.nodes = [...nodes];
  snapshot.positions.clear();
  nodes.forEach(({ name }, position) => snapshot.positions.set(name, position));
  snapshot.changes.restructure();
}

function replace(snapshot: Snapshot, position: number, node: NodeInfo): void {
  snapshot.nodes[position] = node;
  snapshot.changes.add(position, snapshot.nodes.length);
}

describe('DomainTally', () => {
  const zone = fc.constantFrom('x', 'y', undefined);
  const state = fc.record({ zone, count: fc.integer({ min: 0, max: 4 }) });
  const steps = fc.array(
    fc.record({
      at: fc.nat({ max: 3 }),
      state,
      trial: fc.array(
        fc.record({ zone: fc.constantFrom('x', 'y'), by: fc.integer({ min: -1, max: 2 }) }),
        {
          maxLength: 3,
        },
      ),
    }),
    { maxLength: 12 },
  );

  test('has the sums, their number and their minimum, after any changes and hypothetical ones', () => {
    fc.assert(
      fc.property(fc.array(state, { minLength: 4, maxLength: 4 }), steps, (start, changes) => {
        const snapshot = snapshotOf(start.map(({ zone: at, count }, i) => nodeWith(i, at, count)));
        const tally = new DomainTally(snapshot, new DomainLayout(snapshot, domainOf), every);
        const perNode = new NodeTally(snapshot, every);
        for (const { at, state: now, trial } of changes) {
          replace(snapshot, at, nodeWith(at, now.zone, now.count));
          tally.update();
          perNode.update();
          const sums = new Map<string, number>();
          for (const node of snapshot.nodes) {
            expect(perNode.count(node)).toBe(node.pods.length);
            const domain = domainOf(node);
            if (domain !== undefined) sums.set(domain, (sums.get(domain) ?? 0) + node.pods.length);
          }
          const counts = new DomainCounts(tally);
          const agree = (): void => {
            for (const [domain, sum] of sums) expect(counts.count(domain)).toBe(sum);
            const domains = snapshot.nodes.map(domainOf);
            expect(domains.map((_, position) => tally.domainAt(position))).toEqual(domains);
            const sumsAt = domains.map((domain) =>
              domain === undefined ? undefined : sums.get(domain),
            );
            expect(domains.map((_, position) => counts.countAt(position))).toEqual(sumsAt);
            expect(tally.separate).toBe(
              domains.filter((domain) => domain !== undefined).length === sums.size,
            );
            expect([counts.size, counts.total, counts.least()]).toEqual([
              sums.size,
              [...sums.values()].reduce((a, b) => a + b, 0),
              sums.size === 0 ? 0 : Math.min(...sums.values()),
            ]);
          };
          agree();
          for (const { zone: domain, by } of trial) {
            const sum = sums.get(domain);
            if (sum === undefined) continue;
            sums.set(domain, sum + by);
            counts.add(domain, by);
            agree();
          }
        }
      }),
    );
  });

  test('follows after more changes than are kept, and after nodes were added and removed', () => {
    const snapshot = snapshotOf([nodeWith(0, 'x', 1), nodeWith(1, 'y', 2)]);
    const tally = new DomainTally(snapshot, new DomainLayout(snapshot, domainOf), every);
    tally.update();
    for (let i = 0; i < 3000; i++) replace(snapshot, 0, nodeWith(0, 'x', i % 4));
    replace(snapshot, 1, nodeWith(1, 'y', 4));
    tally.update();
    expect([tally.count('x'), tally.count('y'), tally.total]).toEqual([3, 4, 7]);
    restructure(snapshot, [nodeWith(1, 'y', 4)]);
    tally.update();
    expect([tally.size, tally.count('x'), tally.total]).toEqual([1, 0, 4]);
  });
});

test('a further tally of a layout reads no node, and follows changes that another one has seen', () => {
  const nodes = Array.from({ length: 1000 }, (_, i) => nodeWith(i, `z${i % 10}`, 1));
  const snapshot = snapshotOf(nodes);
  let reads = 0;
  const layout = new DomainLayout(snapshot, (node) => {
    reads++;
    return domainOf(node);
  });
  const first = new DomainTally(snapshot, layout, every);
  first.update();
  expect(reads).toBe(1000);
  const second = new DomainTally(snapshot, layout, every);
  second.update();
  expect([reads, second.count('z3'), second.size]).toEqual([1000, 100, 10]);
  replace(snapshot, 3, nodeWith(3, 'z4', 2));
  first.update();
  second.update();
  expect([reads, first.count('z3'), second.count('z3'), second.count('z4')]).toEqual([
    1002, 99, 99, 102,
  ]);
});

describe('TallyCache', () => {
  test('returns the same tally for a key, up to date, and drops the least recently used one', () => {
    const snapshot = snapshotOf([nodeWith(0, 'x', 1)]);
    const cache = new TallyCache(snapshot, 8);
    let made = 0;
    const get = (key: string): DomainTally =>
      cache.get(key, () => {
        made++;
        return new DomainTally(snapshot, new DomainLayout(snapshot, domainOf), every);
      });
    const first = get('first');
    replace(snapshot, 0, nodeWith(0, 'x', 3));
    expect(get('first')).toBe(first);
    expect(first.count('x')).toBe(3);
    for (let i = 0; i < 7; i++) get(`other ${i}`);
    expect(get('first')).toBe(first);
    get('one more');
    expect(get('first')).toBe(first);
    expect(made).toBe(9);
    get('other 0');
    expect(made).toBe(10);
  });
});
