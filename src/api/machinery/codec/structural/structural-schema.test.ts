import { expect, test } from 'vitest';
import type * as apiextensions from '#api/groups/apiextensions/v1/index.ts';
import type { JSONSchemaProps } from './json-schema-props.ts';
import { schemaOfField, structuralSchema } from './structural-schema.ts';

test('the schema of a definition has a structural form', () => {
  const given: apiextensions.JSONSchemaProps = {
    type: 'object',
    properties: {
      list: {
        type: 'array',
        nullable: true,
        items: { type: 'string' },
        'x-kubernetes-list-type': 'set',
      },
      map: { type: 'object', additionalProperties: { type: 'integer', default: 0 } },
      any: { type: 'object', additionalProperties: true },
    },
  };
  // Both types must have the same keywords, except for those that the codec does not use.
  const keywords: Record<keyof JSONSchemaProps, true> = {} as Record<
    keyof apiextensions.JSONSchemaProps,
    true
  >;
  expect(keywords).toEqual({});
  const schema = structuralSchema(given);
  expect(schemaOfField(schema, 'list')).toMatchObject({
    type: 'array',
    nullable: true,
    listType: 'set',
    items: { type: 'string' },
  });
  expect(schemaOfField(schemaOfField(schema, 'map'), 'x')).toMatchObject({
    type: 'integer',
    default: 0,
  });
  expect(schemaOfField(schemaOfField(schema, 'any'), 'x')).toBeUndefined();
  expect(schemaOfField(schema, 'other')).toBeUndefined();
});

test.each([
  [{ id: 'x' }, 'id'],
  [{ $schema: 'x' }, 'schema'],
  [{ $ref: 'x' }, '$ref'],
  [{ patternProperties: { a: {} } }, 'patternProperties'],
  [{ dependencies: { a: ['b'] } }, 'dependencies'],
  [{ additionalItems: false }, 'additionalItems'],
  [{ definitions: { a: {} } }, 'definitions'],
] satisfies [JSONSchemaProps, string][])('%j has none, at any depth', (given, keyword) => {
  const message = `OpenAPIV3Schema '${keyword}' is not supported`;
  expect(() => structuralSchema(given)).toThrow(message);
  expect(() =>
    structuralSchema({ properties: { a: { items: { anyOf: [{ properties: { b: given } }] } } } }),
  ).toThrow(message);
});
