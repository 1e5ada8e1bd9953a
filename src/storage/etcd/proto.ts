// The schema as gRPC method definitions, built from schema.ts.

import type { MethodDefinition } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import { type FieldSpec, type MethodSpec, PACKAGES } from './schema.ts';

export type EtcdMethod = MethodDefinition<object, object>;

function message(fields: Readonly<Record<string, FieldSpec>>): object {
  const oneofs: Record<string, { oneof: string[] }> = {};
  const described: Record<string, object> = {};
  for (const [name, [id, type, oneof]] of Object.entries(fields)) {
    described[name] = type.endsWith('[]')
      ? { id, type: type.slice(0, -2), rule: 'repeated' }
      : { id, type };
    if (oneof !== undefined) (oneofs[oneof] ??= { oneof: [] }).oneof.push(name);
  }
  return { fields: described, oneofs };
}

function service(methods: Readonly<Record<string, MethodSpec>>): object {
  const described: Record<string, object> = {};
  for (const [name, [requestType, responseType, stream]] of Object.entries(methods)) {
    described[name] = {
      requestType,
      responseType,
      requestStream: stream === 'stream',
      responseStream: stream === 'stream',
    };
  }
  return { methods: described };
}

function mapValues<V>(
  record: Readonly<Record<string, V>>,
  fn: (value: V) => object,
): Record<string, object> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fn(value)]));
}

const nested = mapValues(PACKAGES, ({ messages, services = {} }) => ({
  options: { syntax: 'proto3' },
  nested: { ...mapValues(messages, message), ...mapValues(services, service) },
}));

const definition = fromJSON(
  { nested },
  {
    longs: Number,
    defaults: true,
    arrays: true,
  },
) as unknown as Record<string, Record<string, EtcdMethod>>;

const methods = new Map<string, EtcdMethod>();

/** Returns the method with this name: service and method, such as 'KV.Range'. */
export function methodNamed(name: string): EtcdMethod {
  const known = methods.get(name);
  if (known !== undefined) return known;
  const [serviceName = '', methodName = ''] = name.split('.');
  const method = definition[`etcdserverpb.${serviceName}`]?.[methodName];
  if (method === undefined) throw new Error(`etcd: the schema has no method ${name}`);
  methods.set(name, method);
  return method;
}
