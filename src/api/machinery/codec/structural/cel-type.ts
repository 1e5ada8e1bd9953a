// The type that a custom resource has in CEL expressions.

import { type ObjectType, type Schema, typeOfMessage, typeOfSchema } from '#cel/index.ts';
import { metaSchemas } from '../../schema/meta-schemas.ts';
import type { StructuralSchema } from './structural-schema.ts';

/** Returns the schema as CEL reads it, for the rules of the node itself (x-kubernetes-validations): see typeOfSchema. */
export function celSchema({ source }: StructuralSchema): Schema {
  // A structural schema has one schema of items, not a list of them.
  return source as Schema;
}

/**
 * Returns the type of whole objects. `name`: what messages call it. Other than rules of the schema, which see only names, policies see
 * all of an object's metadata.
 */
export function celTypeOf(name: string, schema: StructuralSchema): ObjectType {
  const type = typeOfSchema({ ...celSchema(schema), type: 'object', additionalProperties: undefined }, name, true);
  if (type?.kind !== 'object') throw new Error(`the type of ${name} is ${type?.kind}, not an object`);
  const metadata = { type: typeOfMessage(metaSchemas.message('meta/v1.ObjectMeta')) };
  return { ...type, field: (field) => (field === 'metadata' ? metadata : type.field(field)) };
}
