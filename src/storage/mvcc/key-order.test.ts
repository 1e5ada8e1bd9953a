import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assertKey, assertPrefix, compareKeys, endOfPrefix, successor } from './key-order.ts';

const text = fc.string({ unit: 'binary', maxLength: 6 });

describe('the order of keys', () => {
  test('is the order of their UTF-8 bytes', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(
          Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))),
        );
      }),
      {
        numRuns: 2000,
        examples: [
          ['\uff5e', '\u{1f600}'],
          ['\ud7ff', '\u{10000}'],
          ['a\u{1f600}', 'a\ue000b'],
        ],
      },
    );
  });

  test('has no key between a key and its successor, and only keys with the prefix before its end', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        if (compareKeys(b, a) > 0) expect(compareKeys(b, successor(a))).toBeGreaterThanOrEqual(0);
        const prefix = `${a}/`;
        const inRange = compareKeys(b, prefix) >= 0 && compareKeys(b, endOfPrefix(prefix)) < 0;
        expect(inRange).toBe(b.startsWith(prefix));
        expect(compareKeys(`${prefix}${b}`, endOfPrefix(prefix))).toBeLessThan(0);
      }),
    );
  });

  test('rejects invalid keys and prefixes', () => {
    expect(() => assertKey('')).toThrow(TypeError);
    expect(() => assertKey('/a/\ud800')).toThrow(TypeError);
    expect(() => assertKey('/a/\u{1f600}')).not.toThrow();
    expect(() => assertPrefix('/a')).toThrow("must end in '/'");
  });
});
