// Types of Kubernetes' own kinds, from the field descriptions of the API's schemas. Parts of a
// description are read only when needed.

import {
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  INT,
  list,
  map,
  STRING,
  TIMESTAMP,
  type FieldType,
  type ObjectType,
  type Type,
} from './types.ts';

export type DescribedType =
  | { readonly kind: 'scalar'; readonly scalar: string }
  | { readonly kind: 'list'; readonly items: DescribedType }
  | { readonly kind: 'map'; readonly values: DescribedType }
  | { readonly kind: 'message'; readonly message: DescribedMessage }
  | { readonly kind: 'either' };

export interface DescribedMessage {
  readonly name: string;
  readonly fields: readonly { readonly name: string; readonly type: DescribedType }[];
}

/** Other types are dynamic. */
const SCALARS: Readonly<Record<string, Type>> = {
  string: STRING,
  bool: BOOL,
  int32: INT,
  int64: INT,
  uint8: INT,
  uint32: INT,
  uint64: INT,
  double: DOUBLE,
  bytes: BYTES,
  quantity: STRING,
  time: TIMESTAMP,
  microTime: TIMESTAMP,
  duration: STRING,
};

const typesByMessage = new WeakMap<DescribedMessage, ObjectType>();

/**
 * Returns the type of a message's objects. Fields are resolved lazily, because messages may contain
 * themselves.
 */
export function typeOfMessage(message: DescribedMessage): ObjectType {
  let type = typesByMessage.get(message);
  if (type === undefined) {
    type = makeType(message);
    typesByMessage.set(message, type);
  }
  return type;
}

function makeType(message: DescribedMessage): ObjectType {
  const fields = new Map<string, FieldType>();
  return {
    kind: 'object',
    name: message.name,
    fieldNames: () => message.fields.map(({ name }) => name),
    field(name) {
      const cached = fields.get(name);
      if (cached !== undefined) return cached;
      const described = message.fields.find((field) => field.name === name);
      if (described === undefined) return undefined;
      const field = { type: typeOf(described.type) };
      fields.set(name, field);
      return field;
    },
  };
}

function typeOf(described: DescribedType): Type {
  switch (described.kind) {
    case 'scalar':
      return SCALARS[described.scalar] ?? DYN;
    case 'list':
      return list(typeOf(described.items));
    case 'map':
      return map(STRING, typeOf(described.values));
    case 'message':
      return typeOfMessage(described.message);
    case 'either':
      return DYN;
  }
}
