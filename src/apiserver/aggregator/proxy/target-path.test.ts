// Paths and queries as a backend written in Go gets them from upstream.

import { expect, test } from 'vitest';

import { decodePath, encodePath, encodeQuery } from './target-path.ts';

test.each([
  ['/a/b', '/a/b'],
  ['/a%20b', '/a%20b'],
  ['/%C3%A4', '/%C3%A4'],
  ["/a!b*c'(d)", '/a%21b%2Ac%27%28d%29'],
  ['/a:b@c,d;e=f+g&h$i~j', '/a:b@c,d;e=f+g&h$i~j'],
  ['/%5Bx%5D', '/%5Bx%5D'],
  ['/a%25b', '/a%25b'],
])('%s', (path, expected) => {
  const decoded = decodePath(path);
  expect(decoded === undefined ? undefined : encodePath(decoded)).toBe(expected);
});

test.each(['/a%2Fb', '/a%2fb', '/%', '/%zz', '/%ff'])('%s is not forwarded', (path) => {
  expect(decodePath(path)).toBeUndefined();
});

test.each([
  ['', ''],
  ['b=2&a=1&a=0', 'a=1&a=0&b=2'],
  ['x=%2F&y=a+b&z=a%20b&w=~*', 'w=~%2A&x=%2F&y=a+b&z=a+b'],
  ['novalue', 'novalue='],
  ['a%26b=c%3Dd', 'a%26b=c%3Dd'],
])('query %s', (query, expected) => {
  expect(encodeQuery(new URLSearchParams(query))).toBe(expected);
});
