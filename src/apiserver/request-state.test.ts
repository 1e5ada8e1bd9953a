import { expect, test } from 'vitest';
import { rawRequest } from './testing/requests.ts';

test.each([
  [
    'a=1&b=2',
    [
      ['a', '1'],
      ['b', '2'],
    ],
  ],
  ['a=1;b=2&c=3', [['c', '3']]],
  ['a=%zz&b=%41', [['b', 'A']]],
  ['%=1&c', [['c', '']]],
  [';', []],
])('the query %j has the parameters %j, as Go reads it', (query, parameters) => {
  expect([...rawRequest({ path: `/x?${query}` }).query]).toEqual(parameters);
});
