// Merging, removing, extracting, and the fields that a value mentions.

import { describe, expect, test } from 'vitest';
import { FieldSet } from './field-set.ts';
import { merge } from './merge.ts';
import { deduced, untypedAtomic, type MergeType } from './merge-type.ts';
import { extractItems, removeItems, withNamedFields } from './remove.ts';
import {
  any,
  atomicList,
  bool,
  keyed,
  map,
  number,
  set,
  setOf,
  string,
  struct,
} from './testing.ts';
import { toFieldSet } from './to-field-set.ts';
import { TypedValueError, validateTyped } from './validate.ts';

const type = struct({
  numeric: number,
  string,
  bool,
  any,
  atomicMap: map(string, { atomic: true }),
  atomicStruct: struct({ x: number }, { atomic: true }),
  atomicList: atomicList(string),
  map: map(string),
  maps: map(map(string)),
  set: setOf(string),
  list: keyed(['name'], struct({ name: string, value: number, tags: setOf(string) })),
  struct: struct({ x: number, deep: struct({ x: number }) }),
  free: deduced,
});
const a = { name: 'a' };
const b = { name: 'b' };
const c = { name: 'c' };

describe('mentioned fields', () => {
  test.each<[string, FieldSet]>([
    [
      '{"numeric":1,"string":"a","bool":true,"any":"1Gi"}',
      set(['numeric'], ['string'], ['bool'], ['any']),
    ],
    ['{"numeric":null}', set(['numeric'])],
    [
      '{"atomicMap":{"a":"b"},"atomicStruct":{"x":1},"atomicList":["a"]}',
      set(['atomicMap'], ['atomicStruct'], ['atomicList']),
    ],
    ['{"atomicList":[]}', set(['atomicList'])],
    ['{"map":{"a":"b","c":null}}', set(['map', 'a'], ['map', 'c'])],
    ['{"map":{}}', set(['map'])],
    ['{"map":null}', set(['map'])],
    ['{"maps":{"a":{"b":"c"}}}', set(['maps', 'a'], ['maps', 'a', 'b'])],
    ['{"set":["a","b"]}', set(['set', { '=': 'a' }], ['set', { '=': 'b' }])],
    ['{"set":[]}', FieldSet.empty],
    ['{"set":null}', set(['set'])],
    [
      '{"list":[{"name":"a","value":1}]}',
      set(['list', a], ['list', a, 'name'], ['list', a, 'value']),
    ],
    [
      '{"list":[{"name":"a","tags":["x"]}]}',
      set(['list', a], ['list', a, 'name'], ['list', a, 'tags', { '=': 'x' }]),
    ],
    ['{"list":[{"name":"a","value":1},{"name":"a","value":2}]}', set(['list', a])],
    ['{"struct":{"x":1,"deep":{"x":1}}}', set(['struct', 'x'], ['struct', 'deep', 'x'])],
    ['{"struct":{"deep":{}}}', set(['struct', 'deep'])],
    ['{"struct":{}}', set(['struct'])],
    ['{"free":{"a":{"b":[1]},"c":1}}', set(['free', 'a'], ['free', 'a', 'b'], ['free', 'c'])],
    ['{"free":[{"a":1}]}', set(['free'])],
  ])('%s', (value, expected) => {
    expect(toFieldSet(type, JSON.parse(value)).toString()).toBe(expected.toString());
  });
});

describe('merge', () => {
  test.each<[live: string, applied: string, merged: string]>([
    ['{"string":"a","numeric":1}', '{"string":"b"}', '{"string":"b","numeric":1}'],
    ['{"string":"a"}', '{"string":null}', '{"string":null}'],
    ['{"map":{"a":"1","b":"1"}}', '{"map":{"b":"2","c":"2"}}', '{"map":{"a":"1","b":"2","c":"2"}}'],
    ['{"map":{"a":"1"}}', '{"map":null}', '{"map":{"a":"1"}}'],
    ['{"map":{"a":"1"}}', '{"map":{}}', '{"map":{"a":"1"}}'],
    ['{"map":null}', '{"map":{}}', '{"map":{}}'],
    ['{"map":{}}', '{"map":null}', '{"map":null}'],
    ['{"atomicMap":{"a":"1"}}', '{"atomicMap":{"b":"2"}}', '{"atomicMap":{"b":"2"}}'],
    ['{"atomicStruct":{"x":1}}', '{"atomicStruct":{}}', '{"atomicStruct":{}}'],
    ['{"atomicList":["a","b"]}', '{"atomicList":["c"]}', '{"atomicList":["c"]}'],
    ['{"atomicList":["a","b"]}', '{"atomicList":null}', '{"atomicList":null}'],
    [
      '{"struct":{"x":1,"deep":{"x":1}}}',
      '{"struct":{"deep":{"x":2}}}',
      '{"struct":{"x":1,"deep":{"x":2}}}',
    ],
    [
      '{"free":{"a":{"x":1},"l":[1]}}',
      '{"free":{"a":{"z":2},"l":[2]}}',
      '{"free":{"a":{"x":1,"z":2},"l":[2]}}',
    ],
    ['{"free":{"a":{"x":1}}}', '{"free":{"a":"scalar"}}', '{"free":{"a":"scalar"}}'],
    ['{"free":{"a":"scalar"}}', '{"free":{"a":{"x":1}}}', '{"free":{"a":{"x":1}}}'],
    ['{}', '{"list":[{"name":"a"}]}', '{"list":[{"name":"a"}]}'],
    ['{"__proto__":1}', '{"string":"a"}', '{"__proto__":1,"string":"a"}'],
  ])('%s with %s', (live, applied, merged) => {
    expect(JSON.stringify(merge(type, JSON.parse(live), JSON.parse(applied)))).toBe(merged);
  });

  // Applied items come in the applied order; the others stay after those that they followed.
  test.each<[live: string, applied: string, merged: string]>([
    ['a b c', 'a b c', 'a b c'],
    ['a b c', 'c b a', 'c b a'],
    ['a b c', 'b', 'a b c'],
    ['a b c', 'd', 'a b c d'],
    ['a b c d', 'd a', 'b c d a'],
    ['a b c', 'x b', 'a x b c'],
    ['a b c', 'c x', 'a b c x'],
    ['1 2 3 4', '4 3 2 1', '4 3 2 1'],
    ['a x b y c', 'c b a', 'x y c b a'],
    ['a b', 'b c a', 'b c a'],
    ['a b', '', 'a b'],
    ['', 'a b', 'a b'],
    ['a a b', 'c', 'a a b c'],
    ['a a b', 'a', 'a b'],
  ])('the set %s with %s', (live, applied, merged) => {
    const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');
    expect(merge(type, { set: words(live) }, { set: words(applied) })).toEqual({
      set: words(merged),
    });
  });

  test('items with the same key are merged', () => {
    const live = { list: [{ name: 'a', value: 1, tags: ['x'] }, { name: 'b' }] };
    const applied = { list: [{ name: 'c' }, { name: 'a', tags: ['w'] }] };
    expect(merge(type, live, applied)).toEqual({
      list: [{ name: 'c' }, { name: 'a', value: 1, tags: ['x', 'w'] }, { name: 'b' }],
    });
  });
});

describe('removing and extracting', () => {
  const value = {
    string: 's',
    map: { x: '1', w: '2' },
    atomicList: ['a'],
    set: ['a', 'b'],
    list: [
      { name: 'a', value: 1 },
      { name: 'b', value: 2, tags: ['t'] },
    ],
    struct: { x: 1, deep: { x: 2 } },
  };
  test.each<[string, FieldSet, object]>([
    ['nothing', FieldSet.empty, value],
    ['a scalar', set(['string']), { ...value, string: undefined }],
    ['what is not there', set(['numeric'], ['map', 'nothing'], ['list', c]), value],
    ['an entry', set(['map', 'x']), { ...value, map: { w: '2' } }],
    ['all entries', set(['map', 'x'], ['map', 'w']), { ...value, map: null }],
    ['an atomic list', set(['atomicList']), { ...value, atomicList: undefined }],
    ['an item of a set', set(['set', { '=': 'a' }]), { ...value, set: ['b'] }],
    ['an item', set(['list', a]), { ...value, list: [value.list[1]] }],
    [
      'a field of an item',
      set(['list', b, 'value']),
      { ...value, list: [value.list[0], { name: 'b', tags: ['t'] }] },
    ],
    ['a container with all in it', set(['struct']), { ...value, struct: undefined }],
    [
      'a field in a struct',
      set(['struct', 'deep', 'x']),
      { ...value, struct: { x: 1, deep: null } },
    ],
  ])('without %s', (_, items, expected) => {
    expect(JSON.parse(JSON.stringify(removeItems(type, value, items)))).toEqual(
      JSON.parse(JSON.stringify(expected)),
    );
  });
  test.each<[string, FieldSet, object | undefined]>([
    ['nothing', FieldSet.empty, undefined],
    ['a scalar', set(['string']), { string: 's' }],
    ['an entry', set(['map'], ['map', 'x']), { map: { x: '1' } }],
    ['a map, but nothing in it', set(['map']), { map: {} }],
    ['an atomic list', set(['atomicList']), { atomicList: ['a'] }],
    ['an item of a set', set(['set', { '=': 'b' }]), { set: ['b'] }],
    ['a field of an item', set(['list', b], ['list', b, 'name']), { list: [{ name: 'b' }] }],
    ['a field in a struct', set(['struct', 'deep', 'x']), { struct: { deep: { x: 2 } } }],
  ])('only %s', (_, items, expected) => {
    expect(extractItems(type, value, items)).toEqual(expected);
  });
  test('struct fields on the path are members, map entries are not', () => {
    const named = withNamedFields(
      type,
      set(['struct', 'deep', 'x'], ['maps', 'k', 'l'], ['list', b, 'tags', { '=': 't' }]),
    );
    expect(named.toString()).toBe(
      set(
        ['struct'],
        ['struct', 'deep'],
        ['struct', 'deep', 'x'],
        ['maps'],
        ['maps', 'k', 'l'],
        ['list'],
        ['list', b, 'tags'],
        ['list', b, 'tags', { '=': 't' }],
      ).toString(),
    );
  });
});

describe('values that do not fit', () => {
  const problems = (value: unknown, as: MergeType = type): string => {
    try {
      validateTyped(as, value);
    } catch (error) {
      if (error instanceof TypedValueError) return error.message;
      throw error;
    }
    return '';
  };
  test.each<[unknown, string]>([
    [{ nothing: 1 }, '.nothing: field not declared in schema'],
    [{ numeric: 'lots' }, '.numeric: expected numeric (int or float), got string'],
    [{ numeric: [1] }, '.numeric: expected numeric (int or float), got []interface {}'],
    [{ string: 1 }, '.string: expected string, got &value.valueUnstructured{Value:1}'],
    [{ string: true }, '.string: expected string, got &value.valueUnstructured{Value:true}'],
    [
      { string: { a: ['b'] } },
      '.string: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{"b"}}}',
    ],
    [{ bool: 'yes' }, '.bool: expected boolean, got &{yes}'],
    [{ any: { a: 1 } }, '.any: expected any scalar, got &{map[a:1]}'],
    [{ map: ['a'] }, '.map: expected map, got &{[a]}'],
    [{ map: { a: 1 } }, '.map.a: expected string, got &value.valueUnstructured{Value:1}'],
    [{ list: { a: 1 } }, '.list: expected list, got &{map[a:1]}'],
    [{ set: ['a', 'a'] }, '.set: duplicate entries for key [="a"]'],
    [
      { set: [{}] },
      `.set: element 0: associative list without keys has an element that's a map type`,
    ],
    [{ set: [[]] }, '.set: element 0: not supported: associative list with lists as elements'],
    [
      { set: [null] },
      `.set: element 0: associative list without keys has an element that's an explicit null`,
    ],
    [
      { list: [{ name: 'a', value: 'x' }] },
      '.list[name="a"].value: expected numeric (int or float), got string',
    ],
    [
      { atomicList: ['a', 1] },
      '.atomicList[1]: expected string, got &value.valueUnstructured{Value:1}',
    ],
    [
      { nothing: 1, bool: 1 },
      'errors:\n  .nothing: field not declared in schema\n  .bool: expected boolean, got &{1}',
    ],
    [[], 'expected map, got &{[]}'],
    [{ string: null, list: null, map: null, free: { anything: [{}, null, 'x'] } }, ''],
  ])('%j', (value, message) => expect(problems(value)).toBe(message));
  test('free-form values always fit', () => {
    expect(problems({ a: [{ b: null }] }, deduced)).toBe('');
    expect(problems([[{ a: 1 }], 'x', null], untypedAtomic)).toBe('');
  });
});
