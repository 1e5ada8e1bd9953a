// The CEL type of a custom resource.

import { type ObjectType, type Schema, typeOfMessage, typeOfSchema } from '#cel/index.ts';
import type { GroupVersionKind } from '../../descriptor.ts';
import { metaSchemas } from '../../schema/meta-schemas.ts';
import type { StructuralSchema } from './structural-schema.ts';

/**
 * Returns the schema in the form that CEL uses, for the rules of the node itself
 * (x-kubernetes-validations): see typeOfSchema.
 */
export function celSchema({ source }: StructuralSchema): Schema {
  // A structural schema has one schema of items, not a list of them.
  return source as Schema;
}

/**
 * Returns the type of whole objects. `name`: for messages. Policies see all of an object's
 * metadata; rules of the schema see only names.
 */
export function celTypeOf(name: string, schema: StructuralSchema): ObjectType {
  return celTypeOfObjects(name, celSchema(schema));
}

/** The schema of a kind in OpenAPI documents. */
export interface PublishedSchema extends Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
}

/**
 * Does the same as celTypeOf, for the schema of a kind in OpenAPI documents. Its metadata schema is
 * ignored.
 */
export function celTypeOfObjects(name: string, schema: PublishedSchema): ObjectType {
  const { metadata: _, ...properties } = schema.properties ?? {};
  const type = typeOfSchema(
    { ...schema, type: 'object', additionalProperties: false, properties },
    name,
    true,
  );
  if (type?.kind !== 'object')
    throw new Error(`the type of ${name} is ${type?.kind}, not an object`);
  const metadata = { type: typeOfMessage(metaSchemas.message('meta/v1.ObjectMeta')) };
  return { ...type, field: (field) => (field === 'metadata' ? metadata : type.field(field)) };
}
