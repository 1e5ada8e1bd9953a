import { expect, test } from 'vitest';

import { commonIndex, countIndexes } from './indexes.ts';

test.each<[text: string, completions: number, result: number | string]>([
  ['', 6, 0],
  ['0', 1, 1],
  ['0,2-3,5', 6, 4],
  ['1-2,4', 6, 3],
  ['0-4', 5, 5],
  ['0,0', 6, 'non-increasing order, previous: 0, current: 0'],
  ['4,2', 6, 'non-increasing order, previous: 4, current: 2'],
  ['1-3,3', 6, 'non-increasing order, previous: 3, current: 3'],
  ['3-3', 6, 'non-increasing order, previous: 3, current: 3'],
  ['4-1', 6, 'non-increasing order, previous: 4, current: 1'],
  ['6', 6, 'too large index: "6"'],
  ['1-6', 6, 'too large index: "6"'],
  ['a', 6, 'cannot convert string to integer for index: "a"'],
  ['1-a', 6, 'cannot convert string to integer for index: "a"'],
  ['1-', 6, 'cannot convert string to integer for index: ""'],
  [',', 6, 'cannot convert string to integer for index: ""'],
  ['0, 1', 6, 'cannot convert string to integer for index: " 1"'],
  [
    '1-2-3',
    6,
    `the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`,
  ],
])('%j of %i', (text, completions, result) => {
  expect(countIndexes(text, completions)).toBe(result);
});

test.each<[a: string, b: string, common: number | undefined]>([
  ['', '', undefined],
  ['0', '', undefined],
  ['0,2', '1,3', undefined],
  ['0-3', '3', 3],
  ['3', '0-3', 3],
  ['0-1,4-9', '2-3,8', 8],
  ['0-1,4-5', '6-7', undefined],
  ['2-8', '0-1,5', 5],
  ['x,4', '1,4', 4],
  ['1,4', 'x,4', 4],
])('%j and %j', (a, b, common) => {
  expect(commonIndex(a, b, 10)).toBe(common);
});
