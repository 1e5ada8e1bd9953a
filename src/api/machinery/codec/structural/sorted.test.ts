import { expect, test } from 'vitest';
import { sortedCopy, sortedKeys, sortKeysInPlace } from './sorted.ts';

test('keys are in the order of UTF-8, few or many', () => {
  const keys = ['b', 'a', 'B', 'é', '\u{1F600}', '\uFFFD', 'aa', ''];
  const sorted = ['', 'B', 'a', 'aa', 'b', 'é', '\uFFFD', '\u{1F600}'];
  expect(sortedKeys(Object.fromEntries(keys.map((key) => [key, 1])))).toEqual(sorted);
  const many = Array.from({ length: 50 }, (_, index) => `k${String(index).padStart(2, '0')}`);
  expect(
    sortedKeys(Object.fromEntries([...keys, ...many.toReversed()].map((key) => [key, 1]))),
  ).toEqual([...sorted, ...many].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
});

test('a copy is sorted at every depth and has no undefined values', () => {
  expect(JSON.stringify(sortedCopy({ b: [{ d: 1, c: undefined }, undefined], a: null }))).toBe(
    '{"a":null,"b":[{"d":1},null]}',
  );
});

test('sorting in place keeps the object and its values', () => {
  const value = { x: 1 };
  const object: Record<string, unknown> = { b: value, a: 2 };
  sortKeysInPlace(object);
  expect(JSON.stringify(object)).toBe('{"a":2,"b":{"x":1}}');
  expect(object['b']).toBe(value);
});
