import { describe, expect, test } from 'vitest';
import {
  decodeFromStorage,
  encodeForStorage,
  spliceInto,
  splicedLength,
  spliceResourceVersion,
} from './storage-codec.ts';

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

describe('the stored form', () => {
  const object = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {
      name: 'é',
      namespace: 'x',
      uid: 'u',
      resourceVersion: '7',
      creationTimestamp: '2026-01-02T03:04:05Z',
      labels: { resourceVersion: 'no' },
    },
    data: { metadata: '"resourceVersion":"1",' },
  };

  test('leaves resourceVersion out, and inserts it in the order of the schema', () => {
    const value = encodeForStorage(object);
    expect(text(value.subarray(4))).not.toContain('"7"');
    const spliced = text(spliceResourceVersion(value, 123456789));
    expect(spliced).toBe(
      JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: '123456789' } }),
    );
    expect(decodeFromStorage(value, 42)).toEqual({
      ...object,
      metadata: { ...object.metadata, resourceVersion: '42' },
    });
    expect(JSON.stringify(decodeFromStorage(value, 42))).toBe(
      text(spliceResourceVersion(value, 42)),
    );
  });

  test.each([
    { metadata: { name: 'only' } },
    { metadata: { uid: 'u', generation: 1 } },
    { metadata: { generation: 1 } },
    { metadata: { labels: {}, name: 'after' }, spec: {} },
    { apiVersion: 'v1', spec: { metadata: {} }, metadata: { name: 'late', resourceVersion: '1' } },
    { metadata: { resourceVersion: '3', name: 'first' } },
    { kind: 'say "it"', metadata: { name: 'a\\b\u2028\t\x7f', uid: '\ud800', generation: 1 } },
  ])('is valid JSON whatever the metadata: %j', (given) => {
    const value = encodeForStorage(given);
    const { resourceVersion: _, ...metadata } = given.metadata as Record<string, unknown>;
    expect(JSON.parse(text(spliceResourceVersion(value, 9)))).toEqual({
      ...given,
      metadata: { ...metadata, resourceVersion: '9' },
    });
  });

  test('splices many objects into one buffer', () => {
    const values = [object, { metadata: { name: 'b' } }].map((item) => encodeForStorage(item));
    const length = values.reduce((sum, value) => sum + splicedLength(value.length, 10), 0);
    const target = Buffer.alloc(length);
    let at = 0;
    for (const value of values) at = spliceInto(target, at, value, 10);
    expect(at).toBe(length);
    expect(target.toString()).toBe(
      values.map((value) => text(spliceResourceVersion(value, 10))).join(''),
    );
  });

  test('rejects objects without metadata', () => {
    expect(() => encodeForStorage({ metadata: {} })).toThrow('empty metadata');
    expect(() => encodeForStorage({ kind: 'x' })).toThrow('without metadata');
  });
});
