// Stored values as JSON and back: the bytes are those of the encoder.

import { describe, expect, test } from 'vitest';
import { encodeForStorage } from './storage-codec.ts';
import { isStoredForm, jsonOfStored, storedOfJson } from './stored-json.ts';

const TYPE = { kind: 'Widget', apiVersion: 'example.com/v1' };

describe('there and back', () => {
  test.each<object>([
    { ...TYPE, metadata: { name: 'a' } },
    { ...TYPE, metadata: { name: 'a', namespace: 'b', uid: 'c', generation: 1 }, spec: {} },
    { ...TYPE, metadata: { generation: 1, name: 'a' } },
    { ...TYPE, metadata: { creationTimestamp: null } },
    { ...TYPE, metadata: { name: 'a', labels: { metadata: '{"metadata":{"uid":"' } } },
    { metadata: { name: 'é\\"{', annotations: { ü: '\n' } }, ...TYPE },
    {
      spec: { metadata: { name: 'x' }, list: [[{}], ']', '\\'] },
      metadata: { name: 'a', uid: 'b', selfLink: '' },
      n: -1.5,
    },
    { ...TYPE, metadata: { name: 'a', generation: 1 }, big: 9007199254740993n, list: [1n << 62n] },
    { ...TYPE, metadata: { name: 'a', generation: 1 }, data: { long: 'x'.repeat(5000) } },
  ])('%j'.replace('%j', 'object %#'), (object) => {
    const value = encodeForStorage(object);
    expect(isStoredForm(value)).toBe(true);
    const json = jsonOfStored(value);
    expect(isStoredForm(json)).toBe(false);
    expect(Buffer.from(storedOfJson(json)!)).toEqual(Buffer.from(value));
  });
});

test('numbers of 16 digits and more are marked, wherever they are', () => {
  for (let offset = 0; offset < 20; offset++) {
    for (let digits = 13; digits < 35; digits++) {
      const number = `-${'9'.repeat(digits)}`;
      const text = 'x'.repeat(offset);
      const json = Buffer.from(`{"metadata":{"name":"a"},"text":"${text}","number":${number}}`);
      expect([offset, digits, storedOfJson(json)![0] !== 0]).toEqual([offset, digits, digits > 15]);
    }
  }
});

test.each([
  '{}',
  '{"metadata":{}}',
  '{"metadata":null}',
  '{ "metadata": {"name":"a"}}',
  '{"a',
  '[]',
  '',
])('%s is no stored object', (text) => {
  expect(storedOfJson(Buffer.from(text))).toBeUndefined();
});
