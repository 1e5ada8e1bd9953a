// Options in queries: objects of kinds such as PodExecOptions, in the form
// `?command=ls&stdin=true`.

import type { MessageDescriptor, Scalar, TypeRef } from '../descriptor.ts';
import { describeField } from '../openapi/index.ts';
import { decodeObject } from './decode.ts';
import type { QueryCodec, QueryParameter } from './object-codec.ts';

/**
 * The types of query parameters for fields of options. Fields of other types are not parameters.
 */
const PARAMETER_TYPES: Partial<Record<Scalar, QueryParameter['type']>> = {
  string: 'string',
  bool: 'boolean',
  int32: 'integer',
  int64: 'integer',
};

export class DescriptorQueryCodec implements QueryCodec {
  readonly #message: MessageDescriptor;

  constructor(message: MessageDescriptor) {
    this.#message = message;
  }

  get parameters(): readonly QueryParameter[] {
    const { fields, key } = this.#message;
    return fields.flatMap(({ name, type }) => {
      const value = type.kind === 'list' ? type.items : type;
      const written = value.kind === 'scalar' ? PARAMETER_TYPES[value.scalar] : undefined;
      if (written === undefined || name === 'kind' || name === 'apiVersion') return [];
      const description = describeField(key, name, true);
      return [{ name, type: written, ...(description !== undefined && { description }) }];
    });
  }

  decode(valuesOf: (parameter: string) => readonly string[]): Record<string, unknown> {
    const decoded: Record<string, unknown> = {};
    for (const { name, type } of this.#message.fields) {
      const values = valuesOf(name);
      if (values.length > 0) decoded[name] = valueOf(type, values);
    }
    return decodeObject(this.#message, decoded).object;
  }
}

function valueOf(type: TypeRef, values: readonly string[]): unknown {
  if (type.kind === 'list') return values.map((value) => valueOf(type.items, [value]));
  const [value = ''] = values;
  if (type.kind !== 'scalar') return value;
  switch (type.scalar) {
    case 'bool':
      return value !== '0' && value.toLowerCase() !== 'false';
    case 'int32':
    case 'int64': {
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : 0;
    }
    default:
      return value;
  }
}
