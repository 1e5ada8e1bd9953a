import { expect, test } from 'vitest';
import { bearerToken } from './authenticator.ts';

test.each([
  ['Bearer abc', 'abc'],
  ['bearer abc', 'abc'],
  [' Bearer abc ', 'abc'],
  ['Bearer abc def', 'abc'],
  ['Bearer  abc', undefined],
  ['Bearer', undefined],
  ['Bearer ', undefined],
  ['Basic YTpi', undefined],
  ['abc', undefined],
  ['', undefined],
])('the header %j has the token %j, as upstream', (authorization, token) => {
  expect(bearerToken({ authorization })).toBe(token);
});

test('a request without the header has none', () => {
  expect(bearerToken({})).toBeUndefined();
});
