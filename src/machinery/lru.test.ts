import { describe, expect, it } from 'vitest';
import { LruCache } from './lru.ts';

describe('LruCache', () => {
  it('drops what was not used for longest', () => {
    const gone: string[] = [];
    const cache = new LruCache<string, number>({ capacity: 2, onEvict: (key, value) => gone.push(`${key}=${value}`) });
    cache.set('a', 1);
    cache.set('b', 2);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3);
    expect(gone).toEqual(['b=2']);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
  });

  it('counts a replacement as use, a peek not, and neither as eviction', () => {
    const gone: string[] = [];
    const cache = new LruCache<string, number>({ capacity: 2, onEvict: (key) => gone.push(key) });
    cache.set('a', 1);
    cache.set('b', 2);
    cache.set('a', 3);
    expect(cache.peek('b')).toBe(2);
    cache.set('c', 4);
    expect(gone).toEqual(['b']);
    expect(cache.peek('a')).toBe(3);
    expect(cache.delete('a')).toBe(true);
    expect(cache.delete('a')).toBe(false);
    expect(cache.size).toBe(1);
    cache.clear();
    expect(cache.has('c')).toBe(false);
    expect(gone).toEqual(['b']);
  });

  it('refuses to hold nothing', () => {
    expect(() => new LruCache({ capacity: 0 })).toThrow(RangeError);
  });
});
