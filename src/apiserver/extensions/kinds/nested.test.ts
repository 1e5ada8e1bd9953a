import { expect, test } from 'vitest';

import { namesOfPath, nestedInteger, nestedString, withNestedField } from './nested.ts';
import { withSortedField } from './sorted-field.ts';

const object = {
  kind: 'K',
  apiVersion: 'v1',
  metadata: {},
  spec: { n: 3, f: 1.5, text: 'x', nothing: null },
};

test('values are found, or missing', () => {
  expect(nestedInteger(object, namesOfPath('.spec.n'))).toBe(3);
  expect(nestedString(object, namesOfPath('spec.text'))).toBe('x');
  expect(nestedInteger(object, namesOfPath('.spec.missing.more'))).toBeUndefined();
  expect(nestedInteger(object, namesOfPath('.spec.nothing.more'))).toBeUndefined();
});

test.each([
  ['.spec.text', '.spec.text accessor error: x is of the type string, expected int64'],
  ['.spec.f', '.spec.f accessor error: 1.5 is of the type float64, expected int64'],
  ['.spec.nothing', '.spec.nothing accessor error: <nil> is of the type <nil>, expected int64'],
  [
    '.spec.n.more',
    '.spec.n.more accessor error: 3 is of the type int64, expected map[string]interface{}',
  ],
])('%s is not an integer', (path, message) => {
  expect(() => nestedInteger(object, namesOfPath(path))).toThrow(message);
});

test('a value is set, with missing parent objects', () => {
  expect(withNestedField(object, ['spec', 'n'], 4)).toEqual({
    ...object,
    spec: { ...object.spec, n: 4 },
  });
  expect(withNestedField(object, ['status', 'a', 'b'], 1)).toEqual({
    ...object,
    status: { a: { b: 1 } },
  });
  expect(() => withNestedField(object, ['spec', 'n', 'x'], 1)).toThrow(
    'value cannot be set because .spec.n is not a map[string]interface{}',
  );
  expect(object.spec.n).toBe(3);
});

test('fields stay in order', () => {
  const keys = (of: object): string[] => Object.keys(of);
  const both = { kind: 'K', apiVersion: 'v1', metadata: {}, b: 1, d: 2 };
  expect(keys(withSortedField(both, 'c', 1))).toEqual([
    'kind',
    'apiVersion',
    'metadata',
    'b',
    'c',
    'd',
  ]);
  expect(keys(withSortedField(both, 'a', 1))).toEqual([
    'kind',
    'apiVersion',
    'metadata',
    'a',
    'b',
    'd',
  ]);
  expect(keys(withSortedField(both, 'e', 1))).toEqual([
    'kind',
    'apiVersion',
    'metadata',
    'b',
    'd',
    'e',
  ]);
  expect(keys(withSortedField(both, 'b', undefined))).toEqual([
    'kind',
    'apiVersion',
    'metadata',
    'd',
  ]);
  expect(withSortedField(both, 'x', undefined)).toBe(both);
});
