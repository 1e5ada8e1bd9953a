import { expect, test } from 'vitest';

import { compareKeys, formatYaml } from './format-yaml.ts';
import { parseYaml } from './yaml.ts';

test.each([
  'a',
  '',
  ' ',
  '\n',
  ' \n',
  '\n \n',
  ' a\n',
  'a\nb\n',
  'a\n\n',
  '\ta\nb',
  'yes',
  'null',
  '1e3',
  '0o7',
  '.nan',
  '2026-01-01',
  '- a',
  'a: b',
  '# a',
  '"',
  '<<',
])('%j comes back as it was', (text) => {
  const value = { a: text, list: [text] };
  expect(parseYaml(formatYaml(value))).toEqual(value);
});

test('keys are sorted, and lists are not indented', () => {
  const value = { b: { list: [{ z: 1, a: 2 }], 'x-2': 1, x10: 2, x9: 1 }, a: [] };
  expect(formatYaml(value)).toBe(
    'a: []\nb:\n  list:\n  - a: 2\n    z: 1\n  x-2: 1\n  x9: 1\n  x10: 2\n',
  );
});

test.each([
  ['a', 'b'],
  ['a', 'ab'],
  ['a9', 'a10'],
  ['a1', 'a01'],
  ['a01', 'a2'],
  ['a-b', 'ab'],
  ['1a', '1-'],
  ['A', 'a'],
  ['.', 'a'],
])('%s comes before %s', (first, second) => {
  expect(compareKeys(first, second)).toBeLessThan(0);
  expect(compareKeys(second, first)).toBeGreaterThan(0);
  expect(compareKeys(first, first)).toBe(0);
});
