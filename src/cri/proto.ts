// The CRI schema as a protobuf description, for @grpc/proto-loader. Built from schema.ts; nothing
// is listed here.

import type { fromJSON } from '@grpc/proto-loader';
import { enums, messages, services } from './schema.ts';

export const criPackage = 'runtime.v1';

interface FieldJson {
  id: number;
  type: string;
  rule?: 'repeated';
  keyType?: string;
}

function fieldJson([id, type]: readonly [number, string]): FieldJson {
  const map = /^map<(\w+),(\w+)>$/.exec(type);
  if (map) return { id, keyType: map[1]!, type: map[2]! };
  return type.endsWith('[]') ? { id, type: type.slice(0, -2), rule: 'repeated' } : { id, type };
}

function mapEntries<V, W>(
  record: Readonly<Record<string, V>>,
  fn: (value: V) => W,
): Record<string, W> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fn(value)]));
}

/** A JSON namespace as protobufjs reads it: package runtime.v1 with proto3 semantics. */
export function criDescriptor(): Parameters<typeof fromJSON>[0] {
  const definitions = {
    ...mapEntries<Readonly<Record<string, number>>, object>(enums, (values) => ({ values })),
    ...mapEntries<Readonly<Record<string, readonly [number, string]>>, object>(
      messages,
      (fields) => ({
        fields: mapEntries(fields, fieldJson),
      }),
    ),
    ...mapEntries<Readonly<Record<string, readonly [string, string, 'stream'?]>>, object>(
      services,
      (methods) => ({
        methods: mapEntries(methods, ([requestType, responseType, stream]) => ({
          requestType,
          responseType,
          responseStream: stream === 'stream',
        })),
      }),
    ),
  };
  return {
    nested: { runtime: { nested: { v1: { options: { syntax: 'proto3' }, nested: definitions } } } },
  };
}
