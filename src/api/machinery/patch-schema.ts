// The schema of a type for strategic merge patches, from its descriptor.

import {
  mapSchema,
  type PatchField,
  type PatchSchema,
} from '#machinery/patch/strategic-merge-patch.ts';
import type { FieldDescriptor, MessageDescriptor, TypeRef } from './descriptor.ts';

const schemas = new WeakMap<MessageDescriptor, PatchSchema>();

/** Returns the merge rules of a type. */
export function patchSchema(message: MessageDescriptor): PatchSchema {
  let schema = schemas.get(message);
  if (schema === undefined) {
    const fields = new Map<string, PatchField>();
    schema = {
      name: message.shortName,
      field(name) {
        let field = fields.get(name);
        if (field === undefined) {
          const descriptor = message.byName.get(name);
          if (descriptor === undefined) return undefined;
          field = patchField(descriptor);
          fields.set(name, field);
        }
        return field;
      },
    };
    schemas.set(message, schema);
  }
  return schema;
}

function patchField({ type, patchStrategy, patchMergeKey }: FieldDescriptor): PatchField {
  return { patchStrategy, patchMergeKey, schema: typeSchema(type) };
}

function typeSchema(type: TypeRef): PatchSchema | undefined {
  switch (type.kind) {
    case 'message':
    case 'either':
      return patchSchema(type.message);
    case 'list':
      return typeSchema(type.items);
    case 'map':
      return mapSchema(typeSchema(type.values));
    case 'scalar':
      return undefined;
  }
}
