import { expect, test } from 'vitest';
import { Snapshot } from '#scheduler/cache/snapshot.ts';
import { makeNodeInfo } from '#scheduler/testing/objects.ts';
import { NodeDomains } from './node-domains.ts';

const KEY = 'rack';
const nodeIn = (index: number, rack?: string) =>
  makeNodeInfo(`n${index}`, rack === undefined ? {} : { labels: { [KEY]: rack } }, []);

function snapshotOf(racks: readonly (string | undefined)[]): Snapshot {
  const snapshot = new Snapshot();
  snapshot.nodes = racks.map((rack, i) => nodeIn(i, rack));
  snapshot.nodes.forEach(({ name }, position) => snapshot.positions.set(name, position));
  snapshot.changes.restructure();
  return snapshot;
}

test('counts the domains of some nodes, those without one as one', () => {
  const domains = new NodeDomains(snapshotOf(['a', 'b', undefined, 'a', undefined]), KEY);
  domains.update();
  expect([0, 1, 2, 3, 4].map((position) => domains.has(position))).toEqual([
    true,
    true,
    false,
    true,
    false,
  ]);
  expect(domains.different([0, 3], 2)).toBe(1);
  expect(domains.different([0, 1, 2, 3, 4], 5)).toBe(3);
  expect(domains.different([2, 4, 0, 1], 2)).toBe(1);
  expect(domains.different([0], 0)).toBe(0);
});

test('follows nodes that change, come and go', () => {
  const snapshot = snapshotOf(['a', 'a']);
  const domains = new NodeDomains(snapshot, KEY);
  domains.update();
  expect(domains.different([0, 1], 2)).toBe(1);
  snapshot.nodes[1] = nodeIn(1, 'b');
  snapshot.changes.add(1, 2);
  domains.update();
  expect(domains.different([0, 1], 2)).toBe(2);
  const many = Array.from({ length: 200 }, (_, i) => `rack-${i}`);
  snapshot.nodes = many.map((rack, i) => nodeIn(i, rack));
  snapshot.positions.clear();
  snapshot.nodes.forEach(({ name }, position) => snapshot.positions.set(name, position));
  snapshot.changes.restructure();
  domains.update();
  const positions = many.map((_, i) => i);
  expect(domains.different(positions, 200)).toBe(200);
  expect(domains.different(positions, 100)).toBe(100);
});
