import { describe, expect, test } from 'vitest';
import { findDuplicateFields } from './duplicate-fields.ts';

describe('findDuplicateFields', () => {
  test('unknown fields are where the text has them, without duplicates of theirs', () => {
    const text = '{"x":1,"a":{"b":[{"y":{"c":1,"c":2},"y":3,"c":4,"c":5}]},"x":2,"x.z":1,"x.z":2}';
    expect(findDuplicateFields(text, ['x', 'a.b[0].y', 'other'])).toEqual([
      'x',
      'a.b[0].y',
      'a.b[0].c',
    ]);
  });

  test('returns the paths of duplicate keys', () => {
    expect(findDuplicateFields('{"a":1,"b":{"c":1,"c":2},"a":3,"a":4}')).toEqual(['b.c', 'a']);
    expect(
      findDuplicateFields('{"spec":{"containers":[{"name":"x"},{"name":"y","name":"z"}]}}'),
    ).toEqual(['spec.containers[1].name']);
  });

  test('distinguishes keys from values, and handles escapes', () => {
    expect(findDuplicateFields('{"a":"a","b":["a","a"],"c":"\\"a\\":"}')).toEqual([]);
    expect(findDuplicateFields('{"a\\u0062":1 ,\n "ab" : 2}')).toEqual(['ab']);
    expect(findDuplicateFields('{"a\\\\":1,"a":2}')).toEqual([]);
  });

  test('detects duplicates among many keys', () => {
    const keys = Array.from({ length: 100 }, (_, i) => `"k${i}":${i}`);
    expect(findDuplicateFields(`{${keys.join()}}`)).toEqual([]);
    expect(findDuplicateFields(`{${keys.join()},"k3":0,"k99":0}`)).toEqual(['k3', 'k99']);
  });
});
