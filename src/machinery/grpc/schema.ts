// A gRPC API as one table: the enums, messages and services of a protobuf package, with the numbers
// that go on the wire. TypeScript types and the protobuf codec are both derived from it.
//
// A field is `name: [number, type]`. The type is a protobuf scalar, an enum or message of the table,
// one of these with `[]` (repeated), or `map<string,TYPE>`. Well-known types such as
// google.protobuf.Timestamp are messages of the table: the wire format has no names. A third element
// 'optional' is proto3's: such a field can be absent.

import { fromJSON, type PackageDefinition } from '@grpc/proto-loader';

export interface Schema {
  /** The package's name, for example 'csi.v1'. */
  readonly package: string;
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly messages: Readonly<Record<string, Readonly<Record<string, Field>>>>;
  readonly services: Readonly<Record<string, Readonly<Record<string, Method>>>>;
}

export type Field = readonly [number, string, 'optional'?];

/** The request, the response, and whether the response is a stream. */
export type Method = readonly [string, string, 'stream'?];

type Scalars = {
  string: string;
  bool: boolean;
  bytes: Uint8Array;
  double: number;
  int32: number;
  uint32: number;
  int64: number;
  uint64: number;
};

export type MessageName<S extends Schema> = keyof S['messages'] & string;

type FieldType<S extends Schema, T, Shape extends 'message' | 'input'> = T extends keyof Scalars
  ? Scalars[T]
  : T extends keyof S['enums']
    ? keyof S['enums'][T] & string
    : T extends MessageName<S>
      ? Shape extends 'message'
        ? Message<S, T>
        : Input<S, T>
      : T extends `map<string,${infer Value}>`
        ? Readonly<Record<string, FieldType<S, Value, Shape>>>
        : T extends `${infer Item}[]`
          ? readonly FieldType<S, Item, Shape>[]
          : never;

type FieldTypeOf<S extends Schema, F, Shape extends 'message' | 'input'> = F extends readonly [
  number,
  infer T,
  ...unknown[],
]
  ? FieldType<S, T, Shape>
  : never;

/** The fields that can be absent from a received message. */
type NestedKeys<S extends Schema, N extends MessageName<S>> = {
  [K in keyof S['messages'][N]]: S['messages'][N][K] extends readonly [number, string, 'optional']
    ? K
    : S['messages'][N][K] extends readonly [number, infer T, ...unknown[]]
      ? T extends MessageName<S>
        ? K
        : never
      : never;
}[keyof S['messages'][N]];

/**
 * A received message: scalars, enums (as names), lists and maps are always present, at least as
 * their zero value; nested messages and optional fields may be absent. 64-bit integers are numbers, exact to 2^53.
 */
export type Message<S extends Schema, N extends MessageName<S>> = {
  readonly [K in Exclude<keyof S['messages'][N], NestedKeys<S, N>>]: FieldTypeOf<
    S,
    S['messages'][N][K],
    'message'
  >;
} & {
  readonly [K in NestedKeys<S, N>]?: FieldTypeOf<S, S['messages'][N][K], 'message'> | undefined;
};

/** A message to send: a missing field has its zero value. */
export type Input<S extends Schema, N extends MessageName<S>> = {
  readonly [K in keyof S['messages'][N]]?: FieldTypeOf<S, S['messages'][N][K], 'input'> | undefined;
};

export type ServiceName<S extends Schema> = keyof S['services'] & string;
export type MethodName<S extends Schema, V extends ServiceName<S>> = keyof S['services'][V] &
  string;

export type RequestName<
  S extends Schema,
  V extends ServiceName<S>,
  M extends MethodName<S, V>,
> = S['services'][V][M][0] & MessageName<S>;
export type ResponseName<
  S extends Schema,
  V extends ServiceName<S>,
  M extends MethodName<S, V>,
> = S['services'][V][M][1] & MessageName<S>;

const definitions = new WeakMap<Schema, PackageDefinition>();

/** Returns the wire format of the API's methods; made at the first call. */
export function definitionOf(schema: Schema): PackageDefinition {
  let definition = definitions.get(schema);
  if (definition === undefined) {
    definition = fromJSON(descriptorOf(schema), {
      longs: Number,
      enums: String,
      defaults: true,
      arrays: true,
      objects: true,
    });
    definitions.set(schema, definition);
  }
  return definition;
}

/** Returns the API as a JSON namespace of protobufjs, with proto3 semantics. */
function descriptorOf(schema: Schema): Parameters<typeof fromJSON>[0] {
  const types = {
    ...mapEntries(schema.enums, (values) => ({ values: { ...values } })),
    ...mapEntries(schema.messages, messageJson),
    ...mapEntries(schema.services, (methods) => ({
      methods: mapEntries(methods, ([requestType, responseType, stream]) => ({
        requestType,
        responseType,
        responseStream: stream === 'stream',
      })),
    })),
  };
  const path = schema.package.split('.').toReversed();
  const innermost: object = { options: { syntax: 'proto3' }, nested: types };
  return {
    nested: path.reduce<Record<string, object>>(
      (inner, name, index) => ({ [name]: index === 0 ? inner : { nested: inner } }),
      innermost as Record<string, object>,
    ),
  };
}

function messageJson(fields: Readonly<Record<string, Field>>): object {
  const optional = Object.keys(fields).filter((name) => fields[name]![2] === 'optional');
  return {
    fields: mapEntries(fields, fieldJson),
    ...(optional.length > 0 && {
      oneofs: Object.fromEntries(optional.map((name) => [`_${name}`, { oneof: [name] }])),
    }),
  };
}

function fieldJson([id, type, presence]: Field): object {
  const map = /^map<(\w+),(\w+)>$/.exec(type);
  if (map) return { id, keyType: map[1], type: map[2] };
  if (type.endsWith('[]')) return { id, type: type.slice(0, -2), rule: 'repeated' };
  return { id, type, ...(presence !== undefined && { options: { proto3_optional: true } }) };
}

function mapEntries<V, W>(
  record: Readonly<Record<string, V>>,
  fn: (value: V) => W,
): Record<string, W> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fn(value)]));
}

/** Removes the nulls that the decoder gives for absent nested messages, at every depth. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([key, field]) => [key, withoutNulls(field)]),
  );
}
