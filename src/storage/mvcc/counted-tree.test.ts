import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CountedTree } from './counted-tree.ts';
import { compareKeys } from './key-order.ts';

interface Item {
  readonly key: string;
  counts: boolean;
}

function check(tree: CountedTree<Item>, model: Map<string, Item>, probes: readonly string[]): void {
  const sorted = [...model.values()].sort((a, b) =>
    Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)),
  );
  expect(tree.size).toBe(sorted.length);
  const all: Item[] = [];
  tree.scan('', '\u{10ffff}', (item) => all.push(item) > 0);
  expect(all).toEqual(sorted);
  for (const probe of probes) {
    expect(tree.get(probe)).toBe(model.get(probe));
    const before = sorted.filter((item) => compareKeys(item.key, probe) < 0);
    expect(tree.countBefore(probe)).toBe(before.filter((item) => item.counts).length);
    const end = `${probe}~`;
    const seen: string[] = [];
    tree.scan(probe, end, (item) => seen.push(item.key) < 5);
    const inRange = sorted.filter(
      (item) => compareKeys(item.key, probe) >= 0 && compareKeys(item.key, end) < 0,
    );
    expect(seen).toEqual(inRange.slice(0, 5).map((item) => item.key));
  }
}

describe('CountedTree', () => {
  test('is empty at first', () => {
    const tree = new CountedTree<Item>((item) => item.counts);
    check(tree, new Map(), ['', 'a']);
    expect(tree.delete('a')).toBe(false);
  });

  test.each([
    ['ascending', (i: number) => i],
    ['descending', (i: number) => 10_000 - i],
    ['scattered', (i: number) => (i * 7919) % 10_007],
  ])('grows and shrinks through every size, keys %s', (_, place) => {
    const tree = new CountedTree<Item>((item) => item.counts);
    const model = new Map<string, Item>();
    const keys = Array.from({ length: 5000 }, (__, i) => `k${String(place(i)).padStart(5, '0')}`);
    const probes = ['', 'k', 'k00100', 'k04999', 'k05000x', 'z', keys[17] ?? ''];
    for (const [index, key] of keys.entries()) {
      const item = { key, counts: index % 3 > 0 };
      tree.insert(item);
      model.set(key, item);
      if (index % 1500 === 0) check(tree, model, probes);
    }
    check(tree, model, probes);
    for (const [index, key] of keys.entries()) {
      expect(tree.delete(key)).toBe(true);
      model.delete(key);
      if (index % 1500 === 0 || index > 4995) check(tree, model, probes);
    }
    expect(tree.size).toBe(0);
  });

  test('behaves like a sorted map', () => {
    const key = fc.oneof(
      fc.nat({ max: 400 }).map((n) => `/p/${n}`),
      fc.constantFrom('/p/\uff5e', '/p/\u{1f600}', '/p/\ue000', '/p/é'),
    );
    const step = fc.record({
      kind: fc.constantFrom('insert', 'insert', 'insert', 'delete', 'flip'),
      key,
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 1500, size: 'max' }), (steps) => {
        const tree = new CountedTree<Item>((item) => item.counts);
        const model = new Map<string, Item>();
        for (const { kind, key: each } of steps) {
          const item = model.get(each);
          if (kind === 'delete') {
            expect(tree.delete(each)).toBe(model.delete(each));
          } else if (kind === 'flip' && item !== undefined) {
            item.counts = !item.counts;
            tree.recount(each, item.counts ? 1 : -1);
          } else if (kind === 'insert' && item === undefined) {
            const created = { key: each, counts: each.length % 2 === 0 };
            tree.insert(created);
            model.set(each, created);
          }
        }
        check(tree, model, ['', '/p/', '/p/17', '/p/200', '/p/\uff5e', '/p/\u{1f600}', '/q']);
      }),
      { numRuns: 40 },
    );
  });
});
