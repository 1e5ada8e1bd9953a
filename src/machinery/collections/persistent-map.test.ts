// Compares the map with a copied Map, both with the real hash and with a hash that collides often.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { hashOf, PersistentMap, type Hash } from './persistent-map.ts';

const HASHES: Readonly<Record<string, Hash>> = {
  'the hash that is used': hashOf,
  'two bits, at the lowest level of the trie': (key) => key.length << 30,
  'the same for all keys': () => 0,
  'five bits': (key) => (key.charCodeAt(0) || 0) & 31,
};

type Change = { readonly key: string; readonly value: number | undefined };
const changes = fc.array(
  fc.record({
    key: fc.string({ maxLength: 3 }),
    value: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  }),
  { maxLength: 200 },
);

const apply = (map: PersistentMap<number>, { key, value }: Change): PersistentMap<number> =>
  value === undefined ? map.delete(key) : map.set(key, value);

function applyPlain(
  map: ReadonlyMap<string, number>,
  { key, value }: Change,
): ReadonlyMap<string, number> {
  const copy = new Map(map);
  if (value === undefined) copy.delete(key);
  else copy.set(key, value);
  return copy;
}

const byKey = (entries: Iterable<readonly [string, number]>): (readonly [string, number])[] =>
  [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1));

describe.each(Object.entries(HASHES))('%s', (_name, hash) => {
  test('every version keeps the entries that it had', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const maps = [PersistentMap.empty<number>(hash)];
        const plain: ReadonlyMap<string, number>[] = [new Map()];
        for (const change of list) {
          maps.push(apply(maps.at(-1)!, change));
          plain.push(applyPlain(plain.at(-1)!, change));
        }
        maps.forEach((map, index) => {
          const wanted = plain[index]!;
          expect(map.size).toBe(wanted.size);
          expect(byKey(map)).toEqual(byKey(wanted));
          for (const { key } of list) {
            expect(map.get(key)).toBe(wanted.get(key));
            expect(map.has(key)).toBe(wanted.has(key));
          }
        });
      }),
      { seed: 18, numRuns: 100 },
    );
  });

  test('the order of the entries depends on the keys alone', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const map = list.reduce(apply, PersistentMap.empty<number>(hash));
        const again = byKey(map).reduce(
          (other, [key, value]) => other.set(key, value),
          PersistentMap.empty<number>(hash),
        );
        expect([...again]).toEqual([...map]);
      }),
      { seed: 18, numRuns: 100 },
    );
  });
});

test('a change that changes nothing returns the map itself', () => {
  const map = PersistentMap.empty<number>().set('a', Number.NaN);
  expect(map.set('a', Number.NaN)).toBe(map);
  expect(map.delete('b')).toBe(map);
  expect(map.delete('a').size).toBe(0);
});

test('names of inherited members are ordinary keys', () => {
  const map = PersistentMap.empty<number>().set('__proto__', 1).set('constructor', 2);
  expect([map.get('__proto__'), map.get('constructor'), map.get('toString')]).toEqual([
    1,
    2,
    undefined,
  ]);
});

test('the hash distributes 10,000 keys that differ at the end only', () => {
  const hashes = new Set(
    Array.from({ length: 10_000 }, (_, i) => hashOf(`group-${i}.example.com`)),
  );
  const lowBits = new Map<number, number>();
  for (const hash of hashes) lowBits.set(hash & 1023, (lowBits.get(hash & 1023) ?? 0) + 1);
  expect(hashes.size).toBeGreaterThan(9_990);
  // The average is ten.
  expect(Math.max(...lowBits.values())).toBeLessThan(40);
});
