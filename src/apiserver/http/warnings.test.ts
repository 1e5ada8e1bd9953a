// The warnings that a response sends.

import { expect, test } from 'vitest';

import { sentWarnings, warningHeader } from './warnings.ts';

test('each text once, except empty ones and ones that a header cannot contain', () => {
  expect(sentWarnings(['a', '', 'b', 'a', 'c\nd', 'e\u0000', 'Größe'])).toEqual([
    'a',
    'b',
    'Größe',
  ]);
});

test('texts that are too long together are truncated', () => {
  const long = (letter: string, length: number): string => letter.repeat(length);
  expect(sentWarnings([long('a', 4096)])).toEqual([long('a', 4096)]);
  expect(sentWarnings([long('a', 4000), long('b', 97)])).toEqual([long('a', 256), long('b', 97)]);
  // The limit counts characters, not bytes.
  expect(sentWarnings([long('ü', 4096)])).toEqual([long('ü', 4096)]);
  expect(sentWarnings([long('😀', 4097)])).toEqual([long('😀', 256)]);
});

test('texts beyond the limit are left out', () => {
  const texts = Array.from({ length: 100 }, (_, index) => `${index}-${'x'.repeat(1000)}`);
  expect(sentWarnings(texts).length).toBe(16);
  // All texts up to the limit are sent, even if they are too long together.
  const short = Array.from({ length: 41 }, (_, index) => `${100 + index}${'x'.repeat(97)}`);
  expect(sentWarnings(short).length).toBe(41);
  expect(sentWarnings([...short, 'more']).length).toBe(41);
});

test('a header quotes the text', () => {
  expect(warningHeader('a "b" \\ c')).toBe('299 - "a \\"b\\" \\\\ c"');
});
