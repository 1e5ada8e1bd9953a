import { expect, test } from 'vitest';

import { trimEnd } from './trim.ts';

test.each([
  ['', ''],
  ['/', ''],
  ['a', 'a'],
  ['/a//', '/a'],
  ['//a/b', '//a/b'],
])('trimEnd(%j): %j', (text, trimmed) => {
  expect(trimEnd(text, '/')).toBe(trimmed);
});

test('takes linear time', () => {
  expect(trimEnd(`${'/'.repeat(1_000_000)}x`, '/')).toHaveLength(1_000_001);
});
