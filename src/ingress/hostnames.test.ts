import { expect, test } from 'vitest';
import { compareHostnames, hostOf, intersectHostnames, matchesHostname } from './hostnames.ts';

test.each([
  ['', 'a.example', false, true],
  ['a.example', 'a.example', false, true],
  ['a.example', 'b.example', false, false],
  ['*.example', 'a.example', false, true],
  ['*.example', 'a.b.example', false, true],
  ['*.example', 'a.b.example', true, false],
  ['*.example', 'example', false, false],
  ['*.example', '.example', false, false],
  ['*.example', 'aexample', false, false],
])('%j and the host %j, one label %j: %j', (hostname, host, oneLabel, expected) => {
  expect(matchesHostname(hostname, host, oneLabel)).toBe(expected);
});

test.each([
  ['', '', ''],
  ['', 'a.example', 'a.example'],
  ['*.example', '', '*.example'],
  ['*.example', 'a.example', 'a.example'],
  ['a.example', '*.example', 'a.example'],
  ['*.example', '*.a.example', '*.a.example'],
  ['*.a.example', '*.example', '*.a.example'],
  ['*.a.example', '*.b.example', undefined],
  ['*.example', 'example', undefined],
  ['a.example', 'b.example', undefined],
])('%j and %j have %j in common', (a, b, expected) => {
  expect(intersectHostnames(a, b)).toBe(expected);
});

test('the order of precedence', () => {
  const hostnames = ['', '*.example', 'b.example', '*.a.example', 'a.b.example'];
  expect(hostnames.toSorted(compareHostnames)).toEqual([
    'a.b.example',
    'b.example',
    '*.a.example',
    '*.example',
    '',
  ]);
});

test.each([
  ['a.example', 'a.example'],
  ['A.Example:8080', 'a.example'],
  ['a.example.', 'a.example'],
  ['[::1]:80', '[::1]'],
  ['', ''],
  ['a b', undefined],
  ['a.example:port', undefined],
  ['a@b', undefined],
  ['a/b', undefined],
  ['a.example:123456', undefined],
])('the host of %j is %j', (authority, expected) => {
  expect(hostOf(authority)).toBe(expected);
});
