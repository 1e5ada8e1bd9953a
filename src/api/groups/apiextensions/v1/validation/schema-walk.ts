// Walks through the schemas of a definition.

import { partsOf } from '#api/machinery/codec/structural/structural-schema.ts';
import type { JSONSchemaProps } from '#api/machinery/codec/structural/json-schema-props.ts';
import type { Spec, Version } from './definition.ts';

/** Returns the schema of a version, with the type of the codec's modules. */
export function schemaOf({ schema }: Pick<Version, 'schema'>): JSONSchemaProps | undefined {
  return schema?.openAPIV3Schema as JSONSchemaProps | undefined;
}

/**
 * Yields the schema and all schemas in it, in unspecified order. Not recursive: schemas may be
 * deep.
 */
export function* schemasIn(root: JSONSchemaProps): Generator<JSONSchemaProps, void> {
  const left = [root];
  for (let schema = left.pop(); schema !== undefined; schema = left.pop()) {
    yield schema;
    for (const part of partsOf(schema)) left.push(part);
  }
}

/** Reports whether a schema of a definition, or a nested one, meets the condition. */
export function someSchema(
  { versions }: Pick<Spec, 'versions'>,
  condition: (schema: JSONSchemaProps) => boolean,
): boolean {
  for (const version of versions) {
    const schema = schemaOf(version);
    if (schema !== undefined && hasSchema(schema, condition)) return true;
  }
  return false;
}

function hasSchema(
  root: JSONSchemaProps,
  condition: (schema: JSONSchemaProps) => boolean,
): boolean {
  for (const schema of schemasIn(root)) if (condition(schema)) return true;
  return false;
}
