// Walks through the schemas of a definition.

import { isSchema } from '#api/machinery/codec/structural/structural-schema.ts';
import type { JSONSchemaProps } from '#api/machinery/codec/structural/json-schema-props.ts';
import type { Spec, Version } from './definition.ts';

/** Returns the schema of a version, as the codec's modules read schemas. */
export function schemaOf({ schema }: Pick<Version, 'schema'>): JSONSchemaProps | undefined {
  return schema?.openAPIV3Schema as JSONSchemaProps | undefined;
}

/** Returns the schema and all schemas in it, in the order in which Kubernetes visits them. */
export function* schemasIn(schema: JSONSchemaProps): Generator<JSONSchemaProps, void> {
  yield schema;
  for (const part of partsOf(schema)) yield* schemasIn(part);
}

/** Reports whether a schema of a definition, or one inside of them, meets the condition. */
export function someSchema({ versions }: Pick<Spec, 'versions'>, condition: (schema: JSONSchemaProps) => boolean): boolean {
  for (const version of versions) {
    const schema = schemaOf(version);
    if (schema !== undefined && hasSchema(schema, condition)) return true;
  }
  return false;
}

function hasSchema(schema: JSONSchemaProps, condition: (schema: JSONSchemaProps) => boolean): boolean {
  return condition(schema) || partsOf(schema).some((part) => hasSchema(part, condition));
}

function partsOf(schema: JSONSchemaProps): readonly JSONSchemaProps[] {
  const { items, allOf, anyOf, oneOf, not, additionalProperties, additionalItems } = schema;
  const parts: JSONSchemaProps[] = [];
  if (isSchema(items)) parts.push(items);
  else if (items !== undefined) parts.push(...items);
  for (const junctor of [allOf, anyOf, oneOf]) if (junctor !== undefined) parts.push(...junctor);
  if (not !== undefined) parts.push(not);
  if (schema.properties !== undefined) parts.push(...Object.values(schema.properties));
  if (isSchema(additionalProperties)) parts.push(additionalProperties);
  if (schema.patternProperties !== undefined) parts.push(...Object.values(schema.patternProperties));
  if (isSchema(additionalItems)) parts.push(additionalItems);
  if (schema.definitions !== undefined) parts.push(...Object.values(schema.definitions));
  for (const dependency of Object.values(schema.dependencies ?? {})) if (isSchema(dependency)) parts.push(dependency);
  return parts;
}
