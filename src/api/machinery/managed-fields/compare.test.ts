// Differences of two states: the cases of the tests of Kubernetes' structured merge.

import { describe, expect, test } from 'vitest';
import { compare } from './compare.ts';
import { FieldSet } from './field-set.ts';
import { deduced, untypedAtomic, type MergeType } from './merge-type.ts';
import { atomicList, bool, keyed, map, number, set, setOf, string, struct } from './testing.ts';

const nothing = FieldSet.empty;
type Pair = readonly [
  before: string,
  after: string,
  removed: FieldSet,
  modified: FieldSet,
  added: FieldSet,
];

function check(type: MergeType, [before, after, removed, modified, added]: Pair): void {
  const texts = (sets: { removed: FieldSet; modified: FieldSet; added: FieldSet }): unknown => ({
    removed: sets.removed.toString(),
    modified: sets.modified.toString(),
    added: sets.added.toString(),
  });
  const there = compare(type, JSON.parse(before), JSON.parse(after));
  expect(texts(there)).toEqual(texts({ removed, modified, added }));
  const back = compare(type, JSON.parse(after), JSON.parse(before));
  expect(texts(back)).toEqual(texts({ removed: added, modified, added: removed }));
}

describe.each<[string, MergeType]>([
  ['an atomic map', struct({ inner: map(untypedAtomic, { atomic: true }) })],
  ['a map', struct({ inner: map(string) })],
  ['a struct', struct({ inner: struct({ value: untypedAtomic }) })],
])('%s', (_, type) => {
  const inner = set(['inner']);
  test.each<Pair>([
    ['{}', '{"inner":{}}', nothing, nothing, inner],
    ['{}', '{"inner":null}', nothing, nothing, inner],
    ['{"inner":null}', '{"inner":{}}', nothing, inner, nothing],
    ['{"inner":{}}', '{"inner":{}}', nothing, nothing, nothing],
  ])('%s, then %s', (...pair) => check(type, pair));
});

describe('an atomic list', () => {
  const type = struct({ inner: atomicList(untypedAtomic) });
  const inner = set(['inner']);
  test.each<Pair>([
    ['{}', '{"inner":[]}', nothing, nothing, inner],
    ['{}', '{"inner":null}', nothing, nothing, inner],
    ['{"inner":null}', '{"inner":[]}', nothing, inner, nothing],
    ['{"inner":[]}', '{"inner":[]}', nothing, nothing, nothing],
    ['{"inner":["a","b"]}', '{"inner":["a","b"]}', nothing, nothing, nothing],
    ['{"inner":["a","b"]}', '{"inner":["b","a"]}', nothing, inner, nothing],
    ['{"inner":["a","a","a"]}', '{"inner":["a","a"]}', nothing, inner, nothing],
    ['{"inner":["a","a","a"]}', '{"inner":null}', nothing, inner, nothing],
  ])('%s, then %s', (...pair) => check(type, pair));
});

describe('maps in maps', () => {
  const type: MergeType = {
    map: {
      atomic: false,
      fields: new Map(),
      get values() {
        return type;
      },
    },
  };
  test.each<Pair>([
    ['{"a":{},"b":{}}', '{"a":{},"b":{}}', nothing, nothing, nothing],
    ['{"a":{}}', '{"b":{}}', set(['a']), nothing, set(['b'])],
    ['{"a":{"b":{"c":{}}}}', '{"a":{"b":{}}}', set(['a', 'b', 'c']), nothing, nothing],
    ['{"a":{}}', '{"a":{"b":{}}}', nothing, nothing, set(['a', 'b'])],
    ['{}', '{"a":{"b":{}}}', nothing, nothing, set(['a'], ['a', 'b'])],
  ])('%s, then %s', (...pair) => check(type, pair));
});

describe('free-form', () => {
  const a = set(['a']);
  const ab = set(['a', 'b']);
  test.each<Pair>([
    ['{"a":{}}', '{"a":{"b":{}}}', nothing, nothing, ab],
    ['{"a":null}', '{"a":{"b":{}}}', nothing, nothing, ab],
    ['{"a":[]}', '{"a":["b"]}', nothing, a, nothing],
    ['{"a":null}', '{"a":["b"]}', nothing, a, nothing],
    ['{"a":null}', '{"a":"b"}', nothing, a, nothing],
    ['{"a":{"b":{}}}', '{"a":["b"]}', ab, a, nothing],
    ['{"a":{"b":{}}}', '{"a":"b"}', ab, a, nothing],
    ['{"a":["b"]}', '{"a":"b"}', nothing, a, nothing],
    ['{"a":1}', '{"a":"1"}', nothing, a, nothing],
  ])('%s, then %s', (...pair) => check(deduced, pair));
});

describe('scalars and sets', () => {
  const type = struct({
    numeric: number,
    string,
    bool,
    setStr: setOf(string),
    setBool: setOf(bool),
    setNumeric: setOf(number),
  });
  const item = (field: string, value: unknown): FieldSet => set([field, { '=': value }]);
  test.each<Pair>([
    ['{"numeric":1}', '{"numeric":3.14159}', nothing, set(['numeric']), nothing],
    ['{"numeric":1}', '{"numeric":1.0}', nothing, nothing, nothing],
    ['{"string":"aoeu"}', '{"bool":true}', set(['string']), nothing, set(['bool'])],
    ['{"setStr":["a","b"]}', '{"setStr":["a","b","c"]}', nothing, nothing, item('setStr', 'c')],
    ['{"setStr":["a","b"]}', '{"setStr":["b","a"]}', nothing, nothing, nothing],
    [
      '{"setStr":["a","b","c"]}',
      '{"setStr":[]}',
      item('setStr', 'a').union(item('setStr', 'b')).union(item('setStr', 'c')),
      nothing,
      nothing,
    ],
    [
      '{"setBool":[true]}',
      '{"setBool":[false]}',
      item('setBool', true),
      nothing,
      item('setBool', false),
    ],
    [
      '{"setNumeric":[1,2,3.14159]}',
      '{"setNumeric":[1,2,3]}',
      item('setNumeric', 3.14159),
      nothing,
      item('setNumeric', 3),
    ],
  ])('%s, then %s', (...pair) => check(type, pair));
});

describe('lists of objects with two keys', () => {
  const type = struct({
    list: keyed(['key', 'id'], struct({ key: string, id: number, value: map(string), bv: bool })),
  });
  const a1 = { key: 'a', id: 1 };
  const a2 = { key: 'a', id: 2 };
  const b1 = { key: 'b', id: 1 };
  const whole = (keys: object): FieldSet =>
    set(
      ...[[], ['key'], ['id'], ['value'], ['value', 'a']].map(
        (path) => ['list', keys as Readonly<Record<string, unknown>>, ...path] as const,
      ),
    );
  const named = (keys: Readonly<Record<string, unknown>>): FieldSet =>
    set(['list', keys], ['list', keys, 'key'], ['list', keys, 'id']);
  const value = '{"list":[{"key":"a","id":1,"value":{"a":"a"}}]}';
  test.each<Pair>([
    ['{}', value, nothing, nothing, whole(a1).union(set(['list']))],
    [value, value, nothing, nothing, nothing],
    [value, value.replace('"a":"a"', '"a":"b"'), nothing, set(['list', a1, 'value', 'a']), nothing],
    [value, value.replace('"id":1', '"id":2'), whole(a1), nothing, whole(a2)],
    [
      '{"list":[{"key":"a","id":1},{"key":"b","id":1}]}',
      '{"list":[{"key":"a","id":1},{"key":"a","id":2}]}',
      named(b1),
      nothing,
      named(a2),
    ],
  ])('%s, then %s', (...pair) => check(type, pair));
});

describe('excepted fields', () => {
  const type = struct({ spec: struct({ x: number, w: number }), status: struct({ x: number }) });
  test('with everything below them, at any place', () => {
    const before = { spec: { x: 1, w: 1 } };
    const after = { spec: { x: 2, w: 2 }, status: { x: 3 } };
    const except = set(['status'], ['spec', 'x']);
    expect(compare(type, before, after, except).modified.toString()).toBe('.spec.w');
    expect(compare(type, before, after, except).added.isEmpty).toBe(true);
    expect(compare(type, {}, after, except).added.toString()).toBe('.spec\n.spec.w');
  });
});
