import { expect, test } from 'vitest';
import { assignSlots } from './slots.ts';

test.each<[string, string, string, string]>([
  ['the first time, in order', '', 'abc', 'abc'],
  ['nothing changes', 'bca', 'abc', 'bca'],
  ['one is added', 'bca', 'abcd', 'bcad'],
  ['one goes: the last one takes its place', 'abcd', 'acd', 'adc'],
  ['the last one goes', 'abc', 'ab', 'ab'],
  ['one goes, another comes: it takes the place', 'abc', 'axc', 'axc'],
  ['several go', 'abcdef', 'cf', 'fc'],
  ['all go', 'abc', '', ''],
])('%s', (_, previous, targets, expected) => {
  expect(assignSlots([...previous], [...targets]).join('')).toBe(expected);
});
