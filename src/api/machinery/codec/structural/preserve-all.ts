// Schemas of definitions with preserveUnknownFields, which were created before v1: they validate
// objects, and nothing is dropped.

import type { JSONSchemaProps } from './json-schema-props.ts';
import { isSchema } from './structural-schema.ts';

/** Returns the schema, in which every value preserves fields that it does not have. */
export function preservingAll(schema: JSONSchemaProps): JSONSchemaProps {
  const { properties, additionalProperties, items } = schema;
  return {
    ...schema,
    'x-kubernetes-preserve-unknown-fields': true,
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, preservingAll(property)]),
      ),
    }),
    ...(isSchema(additionalProperties) && {
      additionalProperties: preservingAll(additionalProperties),
    }),
    ...(isSchema(items) && { items: preservingAll(items) }),
  };
}
