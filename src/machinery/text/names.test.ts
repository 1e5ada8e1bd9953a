import { describe, expect, test } from 'vitest';
import { fnv32, fnv32a, fnv64a } from './hash.ts';
import { computeHash, generateName, safeEncodeString } from './names.ts';
import { SeededRandom } from '../random.ts';
import { isDNS1123Label } from '../validation/validation.ts';

describe('generateName', () => {
  test('adds five characters to the base', () => {
    expect(generateName('web-', new SeededRandom(1))).toMatch(
      /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/,
    );
  });

  test('cuts a long base to the length of a DNS label', () => {
    const name = generateName('a'.repeat(100), new SeededRandom(1));
    expect(name).toHaveLength(63);
    expect(isDNS1123Label(name)).toEqual([]);
  });
});

describe('safeEncodeString', () => {
  test("encodes as Kubernetes' rand.SafeEncodeString does", () => {
    // Each byte modulo 27 selects a character: '0' is 48, and 48 % 27 = 21 is '4'.
    expect(safeEncodeString('0123456789')).toBe('456789bcdf');
    expect(safeEncodeString('')).toBe('');
  });
});

describe('computeHash', () => {
  test('depends on the value, not on the order of its keys', () => {
    const a = computeHash({ x: 1, y: [1, { b: 2, a: 3 }] });
    expect(computeHash({ y: [1, { a: 3, b: 2 }], x: 1 })).toBe(a);
    expect(computeHash({ x: 1, y: [{ b: 2, a: 3 }, 1] })).not.toBe(a);
    expect(a).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  });

  test('takes a collision count into account', () => {
    const hashes = [undefined, 0, 1, 2].map((count) => computeHash({ x: 1 }, count));
    expect(new Set(hashes).size).toBe(4);
  });
});

describe('FNV', () => {
  test.each([
    ['', 0x811c9dc5, 0x811c9dc5],
    ['a', 0xe40c292c, 0x050c5d7e],
    ['foobar', 0xbf9cf968, 0x31f0b262],
  ])('of %j', (text, a, one) => {
    expect(fnv32a(text)).toBe(a);
    expect(fnv32(text) >>> 0).toBe(one);
    expect(fnv32a(new TextEncoder().encode(text))).toBe(a);
  });

  test('of 64 bits', () => {
    expect(fnv64a('')).toBe(0xcbf29ce484222325n);
    expect(fnv64a('foobar')).toBe(0x85944171f73967e8n);
  });
});
