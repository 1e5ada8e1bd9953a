import { describe, expect, test } from 'vitest';
import { SeededRandom } from '../random.ts';
import { TransientMap, TransientSet } from './transient-map.ts';

describe('TransientMap', () => {
  test('behaves as a Map in any sequence of operations', () => {
    const random = new SeededRandom('transient-map');
    const map = new TransientMap<number, string>();
    const model = new Map<number, string>();
    for (let step = 0; step < 8_000; step++) {
      // The map grows and shrinks, so that dead keys accumulate again and again.
      const key = random.int(step % 2000 < 1000 ? 500 : 20);
      if (random.int(3) > 0) {
        map.set(key, `${step}`);
        model.set(key, `${step}`);
      } else expect(map.delete(key)).toBe(model.delete(key));
      expect(map.get(key)).toBe(model.get(key));
      expect(map.has(key)).toBe(model.has(key));
      expect(map.size).toBe(model.size);
    }
    expect(new Map(map.entries())).toEqual(model);
    map.clear();
    expect([map.size, [...map.keys()], [...map.values()]]).toEqual([0, [], []]);
  });

  test('may change during an iteration', () => {
    const map = new TransientMap<number, number>();
    for (let key = 0; key < 1000; key++) map.set(key, key);
    const seen: number[] = [];
    for (const key of map.keys()) {
      seen.push(key);
      // Most entries are removed, so that the inner Map is replaced, and new ones are added.
      if (key === 0) for (let gone = 1; gone < 1000; gone++) if (gone !== 999) map.delete(gone);
      map.set(2000 + key, 0);
    }
    expect(seen.slice(0, 2)).toEqual([0, 999]);
    expect(map.size).toBe(2 + seen.length);
  });

  test('does not retain removed values', () => {
    const map = new TransientMap<number, object>();
    for (let key = 0; key < 10; key++) map.set(key, {});
    for (let key = 0; key < 10; key++) expect(map.delete(key)).toBe(true);
    expect([map.size, [...map.values()]]).toEqual([0, []]);
  });
});

describe('TransientSet', () => {
  test('has each member once, until it is removed', () => {
    const set = new TransientSet<string>();
    set.add('a');
    set.add('b');
    set.add('a');
    expect([set.size, set.has('a'), [...set]]).toEqual([2, true, ['a', 'b']]);
    expect([set.delete('a'), set.delete('a'), set.has('a'), set.size]).toEqual([
      true,
      false,
      false,
      1,
    ]);
    set.clear();
    expect([...set]).toEqual([]);
  });
});
