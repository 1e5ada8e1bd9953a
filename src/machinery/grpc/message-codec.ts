// Encodes and decodes single messages of an API, for example those in checkpoints.

import type { MethodDefinition } from '@grpc/grpc-js';
import {
  definitionOf,
  type Input,
  type Message,
  type MessageName,
  type Schema,
  withoutNulls,
} from './schema.ts';

export interface MessageCodec<S extends Schema, N extends MessageName<S>> {
  encode(message: Input<S, N>): Buffer;
  /** Throws if the bytes are not such a message. */
  decode(bytes: Uint8Array): Message<S, N>;
}

/** Returns the codec of a message. */
export function messageCodec<S extends Schema, N extends MessageName<S>>(
  schema: S,
  name: N,
): MessageCodec<S, N> {
  // Only methods have serializers, so the message becomes the request of an artificial method.
  const definition = definitionOf({
    ...schema,
    services: { MessageCodec: { Encode: [name, name] } },
  });
  const methods = definition[`${schema.package}.MessageCodec`] as unknown as Readonly<
    Record<string, MethodDefinition<object, object>>
  >;
  const method = methods['Encode']!;
  return {
    encode: (message) => method.requestSerialize(message),
    decode: (bytes) => withoutNulls(method.requestDeserialize(Buffer.from(bytes))) as Message<S, N>,
  };
}
