import { describe, expect, test } from 'vitest';

import { evaluateJsonPath, JsonPathError, parseJsonPath, PathWork } from './index.ts';

const object = {
  name: 'a',
  n: 3,
  f: 1.5,
  nothing: null,
  list: ['x', 'y', 'z'],
  'dotted.key': 'd',
  conditions: [
    { type: 'Ready', status: 'True', count: 1 },
    { type: 'Synced', status: 'False', count: 2 },
  ],
  deep: { a: { b: 1 }, c: [{ b: 2 }] },
};

const find = (path: string): readonly unknown[] => evaluateJsonPath(parseJsonPath(path), object);

describe('results', () => {
  test.each<[string, unknown[]]>([
    ['.name', ['a']],
    ['$.name', ['a']],
    ['.missing', []],
    ['.missing.more', []],
    ['.name.more', []],
    ['.nothing', [null]],
    ['.nothing.more', []],
    ['.dotted\\.key', ['d']],
    ["['name']", ['a']],
    ['.list', [['x', 'y', 'z']]],
    ['.list[0]', ['x']],
    ['.list[-1]', ['z']],
    ['.list[-1:]', ['z']],
    ['.list[1:]', ['y', 'z']],
    ['.list[:2]', ['x', 'y']],
    ['.list[::2]', ['x', 'z']],
    ['.list[*]', ['x', 'y', 'z']],
    ['.list[0,2]', ['x', 'z']],
    ['.list[1:1]', []],
    ['.deep.*.b', [1]],
    ['.deep..b', [1, 2]],
    ['.conditions[*].type', ['Ready', 'Synced']],
    ['.conditions[?(@.type=="Ready")].status', ['True']],
    ["..conditions[?(@.type=='Synced')].status", ['False']],
    ['.conditions[?(@.count>1)].type', ['Synced']],
    ['.conditions[?(@.count<=1)].type', ['Ready']],
    ['.conditions[?(@.type!="Ready")].type', ['Synced']],
    ['.conditions[?(@.missing)].type', []],
    ['.conditions[?(@.status)].type', ['Ready', 'Synced']],
    ['.conditions[?(@.missing=="x")].type', []],
  ])('%s', (path, expected) => {
    expect(find(path)).toEqual(expected);
  });
});

test.each([
  '.list[3]',
  '.list[0:9]',
  '.list[2:1]',
  '.list[::0]',
  '.name[0]',
  '.conditions[?(@.count=="1")]',
  '.conditions[?(@.count==1.5)]',
  '.conditions[?(@.type=~"x")]',
  '.deep[?(@.a)]',
])('%s does not fit the object', (path) => {
  expect(() => find(path)).toThrow(JsonPathError);
});

test.each([
  '.list[0',
  '.list[a]',
  '.a[?(@.b',
  '.a[?(@.b)',
  '"a',
  '....',
  '#',
  'range',
  `.a${'[?(@.b'.repeat(30)}${')]'.repeat(30)}`,
])('%s is not a path', (path) => {
  expect(() => parseJsonPath(path)).toThrow(JsonPathError);
});

test('paths that find the same values again and again are bounded', () => {
  expect(() => evaluateJsonPath(parseJsonPath('..a..a..a'), wide(12))).toThrow(
    'more than 200000 values are visited',
  );
});

test('evaluations that share their work are bounded together', () => {
  const work = new PathWork();
  const list = { a: Array.from({ length: 60_000 }, () => 0) };
  expect(evaluateJsonPath(parseJsonPath('.a[*]'), list, work)).toHaveLength(60_000);
  expect(evaluateJsonPath(parseJsonPath('.a[*]'), list, work)).toHaveLength(60_000);
  expect(evaluateJsonPath(parseJsonPath('.a[*]'), list, work)).toHaveLength(60_000);
  expect(() => evaluateJsonPath(parseJsonPath('.a[*]'), list, work)).toThrow(JsonPathError);
});

test('comparisons of long texts count their length', () => {
  const text = 'x'.repeat(1_000_000);
  const list = Array.from({ length: 1000 }, () => ({ text }));
  expect(() => evaluateJsonPath(parseJsonPath('[?(@.text==@.text)]'), list)).toThrow(JsonPathError);
});

test('a descent over the largest object is within the limit', () => {
  const list = Array.from({ length: 49_999 }, () => ({ a: 'a text' }));
  expect(evaluateJsonPath(parseJsonPath('..a'), list)).toHaveLength(49_999);
});

function wide(depth: number): unknown {
  return depth === 0 ? { a: 1 } : { a: wide(depth - 1), b: wide(depth - 1) };
}
