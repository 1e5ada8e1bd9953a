import { expect, test } from 'vitest';

import { mergedMap } from './string-map.ts';

test('the later map wins, and the keys are in order', () => {
  const merged = mergedMap({ c: '1', a: '1' }, { b: '2', a: '2' });
  expect(Object.entries(merged)).toEqual([
    ['a', '2'],
    ['b', '2'],
    ['c', '1'],
  ]);
});

test('no maps give an empty map, and names of inherited members are ordinary keys', () => {
  expect(mergedMap(undefined, undefined)).toEqual({});
  const odd = JSON.parse('{"__proto__": "x", "constructor": "y"}') as Record<string, string>;
  expect(Object.keys(mergedMap(odd, { a: 'b' }))).toEqual(['__proto__', 'a', 'constructor']);
});
