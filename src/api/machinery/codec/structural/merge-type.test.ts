import { expect, test } from 'vitest';
import type { JSONSchemaProps } from './json-schema-props.ts';
import { merge } from '../../managed-fields/index.ts';
import { deduced } from '../../managed-fields/merge-type.ts';
import { mergeTypeOfSchema } from './merge-type.ts';
import { structuralSchema } from './structural-schema.ts';

const text: JSONSchemaProps = { type: 'string' };
const merged = (spec: JSONSchemaProps, live: unknown, applied: unknown): unknown => {
  const type = mergeTypeOfSchema(structuralSchema({ type: 'object', properties: { spec } }));
  return (merge(type, { spec: live }, { spec: applied }) as { spec: unknown }).spec;
};

test('objects are merged field by field unless they are atomic', () => {
  const schema: JSONSchemaProps = { type: 'object', properties: { a: text, b: text } };
  expect(merged(schema, { a: '1' }, { b: '2' })).toEqual({ a: '1', b: '2' });
  expect(merged({ ...schema, 'x-kubernetes-map-type': 'atomic' }, { a: '1' }, { b: '2' })).toEqual({
    b: '2',
  });
});

test('lists are atomic unless they are sets or have keys', () => {
  const list: JSONSchemaProps = { type: 'array', items: text };
  expect(merged(list, ['a'], ['b'])).toEqual(['b']);
  expect(merged({ ...list, 'x-kubernetes-list-type': 'set' }, ['a'], ['b'])).toEqual(['a', 'b']);
  const items: JSONSchemaProps = {
    type: 'object',
    properties: { k: text, p: { type: 'integer', default: 1 }, v: text },
  };
  const keyed: JSONSchemaProps = {
    type: 'array',
    items,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k', 'p'],
  };
  // The default of a key replaces the key.
  expect(merged(keyed, [{ k: 'a', p: 1, v: 'x' }], [{ k: 'a', v: 'y' }, { k: 'b' }])).toEqual([
    { k: 'a', p: 1, v: 'y' },
    { k: 'b' },
  ]);
});

test('values without a schema are merged by their form: maps granular, lists atomic', () => {
  const any: JSONSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  expect(merged(any, { a: { b: 1 }, l: [1] }, { a: { c: 2 }, l: [2] })).toEqual({
    a: { b: 1, c: 2 },
    l: [2],
  });
  expect(mergeTypeOfSchema(undefined)).toBe(deduced);
});

test('an embedded resource has typed metadata', () => {
  const type = mergeTypeOfSchema(
    structuralSchema({
      type: 'object',
      properties: {
        e: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    }),
  );
  const metadata = type.map?.fields.get('e')?.type.map?.fields.get('metadata')?.type;
  expect(metadata?.map?.fields.get('finalizers')?.type.list).toMatchObject({
    atomic: false,
    keys: [],
  });
});

test('fields below preserved ones are preserved, unlike in pruning', () => {
  const type = mergeTypeOfSchema(
    structuralSchema({
      type: 'object',
      properties: {
        p: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: { q: { type: 'object', properties: { r: text } } },
        },
      },
    }),
  );
  expect(type.map?.values).toBeUndefined();
  expect(type.map?.fields.get('p')?.type.map?.fields.get('q')?.type.map?.values).toBe(deduced);
});
