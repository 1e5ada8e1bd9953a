import { describe, expect, test } from 'vitest';
import { LruCache } from './lru.ts';
import { SeededRandom } from '../random.ts';

describe('LruCache', () => {
  test('evicts the least recently used entry', () => {
    const cache = new LruCache<string, number>({ capacity: 2 });
    cache.set('a', 1);
    cache.set('b', 2);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
  });

  test('counts a replacement as use, but not a peek', () => {
    const cache = new LruCache<string, number>({ capacity: 2 });
    cache.set('a', 1);
    cache.set('b', 2);
    cache.set('a', 3);
    expect(cache.peek('b')).toBe(2);
    cache.set('c', 4);
    expect([cache.peek('a'), cache.peek('b'), cache.peek('c'), cache.size]).toEqual([
      3,
      undefined,
      4,
      2,
    ]);
  });

  test('keeps the most recently used entries in any sequence of operations', () => {
    const random = new SeededRandom('lru');
    const cache = new LruCache<number, number>({ capacity: 8 });
    /** The keys, from the least to the most recently used. */
    let used: number[] = [];
    for (let step = 0; step < 5000; step++) {
      const key = random.int(16);
      const known = used.includes(key);
      if (random.int(2) === 0) expect(cache.get(key)).toBe(known ? key * 2 : undefined);
      else cache.set(key, key * 2);
      if (known || cache.peek(key) !== undefined)
        used = [...used.filter((other) => other !== key), key].slice(-8);
      expect(cache.size).toBe(used.length);
    }
    for (let key = 0; key < 16; key++)
      expect(cache.peek(key) !== undefined).toBe(used.includes(key));
  });

  test('rejects a capacity of 0', () => {
    expect(() => new LruCache({ capacity: 0 })).toThrow(RangeError);
  });
});
