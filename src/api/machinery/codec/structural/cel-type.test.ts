import { expect, test } from 'vitest';
import type { JSONSchemaProps } from './json-schema-props.ts';
import { typeOfSchema } from '#cel/index.ts';
import { celSchema, celTypeOf } from './cel-type.ts';
import { structuralSchema } from './structural-schema.ts';

const schema = structuralSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        replicas: { type: 'integer' },
        port: { 'x-kubernetes-int-or-string': true },
        'a-b': { type: 'array', items: { type: 'string', maxLength: 5 } },
        any: { 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
} satisfies JSONSchemaProps);

test('policies see the schema, the type and all metadata', () => {
  const type = celTypeOf('Thing', schema);
  expect(type.name).toBe('Thing');
  expect(type.fieldNames?.().toSorted()).toEqual(['apiVersion', 'kind', 'metadata', 'spec']);
  const metadata = type.field('metadata')?.type;
  expect(metadata?.kind === 'object' && metadata.field('labels')?.type.kind).toBe('map');
  const spec = type.field('spec')?.type;
  if (spec?.kind !== 'object') throw new Error('spec is no object');
  expect(spec.field('replicas')?.type.kind).toBe('int');
  expect(spec.field('port')?.type.kind).toBe('dyn');
  expect(spec.field('a__dash__b')).toMatchObject({ property: 'a-b', type: { kind: 'list' } });
  // A value of any type has no CEL type.
  expect(spec.field('any')).toBeUndefined();
});

test('rules of the schema see only names', () => {
  const type = typeOfSchema(celSchema(schema), 'self', true);
  const metadata = type?.kind === 'object' ? type.field('metadata')?.type : undefined;
  expect(metadata?.kind === 'object' && metadata.fieldNames?.()).toEqual(['name', 'generateName']);
});

test('an object without a schema has a type, too', () => {
  const type = celTypeOf(
    'Thing',
    structuralSchema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
  );
  expect(type.field('kind')?.type.kind).toBe('string');
});
