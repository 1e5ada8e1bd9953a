// cel-spec's conformance data: its tests as plain JSON, and its notation of values and types
// converted to ours.

import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js';
import {
  ANY,
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  list,
  map,
  NULL,
  object,
  opaque,
  parameter,
  STRING,
  TIMESTAMP,
  TYPE,
  typeOf,
  UINT,
  wrapper,
  type Type,
} from '../types.ts';
import {
  Double,
  Duration,
  MapValue,
  normalizeInt,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from '../values.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ConformanceTest {
  /** 'file/section/name'. */
  readonly path: string;
  readonly expr: string;
  readonly container: string;
  readonly typeEnv: readonly Json[];
  readonly bindings: Readonly<Record<string, Json>>;
  readonly disableCheck: boolean;
  readonly checkOnly: boolean;
  /** The expected result. Absent: an error is expected, if `fails`, else true. */
  readonly value?: Json;
  readonly fails: boolean;
  readonly deducedType?: unknown;
  /** The tree, as cel-go formats it. */
  readonly ast?: string;
  readonly type?: string;
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly {
    readonly original: Json;
    readonly ast?: string;
    readonly type?: string;
  }[];
}

function* walk(suite: Suite, path: string): Generator<ConformanceTest> {
  for (const { original, ast, type } of suite.tests ?? []) {
    const typed = original.typedResult as { result?: Json; deducedType?: unknown } | undefined;
    const value = (original.value ?? typed?.result) as Json | undefined;
    yield {
      path: `${path}/${String(original.name)}`,
      expr: original.expr as string,
      container: (original.container as string | undefined) ?? '',
      typeEnv: (original.typeEnv as Json[] | undefined) ?? [],
      bindings: (original.bindings as Record<string, Json> | undefined) ?? {},
      disableCheck: original.disableCheck === true,
      checkOnly: original.checkOnly === true,
      ...(value !== undefined && { value }),
      fails: original.evalError !== undefined,
      ...(typed?.deducedType !== undefined && { deducedType: typed.deducedType }),
      ...(ast !== undefined && { ast }),
      ...(type !== undefined && { type }),
    };
  }
  for (const child of suite.suites ?? [])
    yield* walk(child, path === '' ? child.name : `${path}/${child.name}`);
}

export const conformanceTests = (): ConformanceTest[] => [...walk(conformance, '')];

/** The value or type refers to protobuf messages, which are not supported. */
class UnsupportedValue extends Error {}

export function readValue(json: Json): Value {
  const [kind, value] = Object.entries(json)[0]!;
  switch (kind) {
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'stringValue':
      return value;
    case 'int64Value':
      return normalizeInt(BigInt(value as string));
    case 'uint64Value':
      return new Uint(BigInt(value as string));
    case 'doubleValue':
      return new Double(Number(value));
    case 'bytesValue':
      return Uint8Array.from(Buffer.from(value as string, 'base64'));
    case 'typeValue':
      return new TypeValue(value as string);
    case 'listValue':
      return ((value as { values?: Json[] }).values ?? []).map(readValue);
    case 'mapValue':
      return MapValue.of(
        ((value as { entries?: { key: Json; value: Json }[] }).entries ?? []).map((entry) => [
          readValue(entry.key),
          readValue(entry.value),
        ]),
      );
    case 'objectValue':
      return readObject(value as Json);
    default:
      throw new UnsupportedValue(kind);
  }
}

/** Few messages have their own values in the language. */
function readObject(json: Json): Value {
  const name = String(json['@type']).replace(/^.*\//, '');
  if (name === 'google.protobuf.Duration')
    return new Duration(secondsToNanoseconds(json.value as string));
  if (name === 'google.protobuf.Timestamp') {
    const [, whole, fraction = ''] = /^([^.]*?)(?:\.(\d+))?Z$/.exec(
      json.value as string,
    ) as unknown as [string, string, string?];
    const date = new Date(`${whole}Z`).getTime();
    return new Timestamp(BigInt(date) * 1_000_000n + BigInt(fraction.padEnd(9, '0')));
  }
  throw new UnsupportedValue(name);
}

function secondsToNanoseconds(text: string): bigint {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?s$/.exec(text) as unknown as [
    string,
    string,
    string,
    string?,
  ];
  const total = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
  return sign === '-' ? -total : total;
}

const PRIMITIVES: Readonly<Record<string, Type>> = {
  BOOL,
  INT64: INT,
  UINT64: UINT,
  DOUBLE,
  STRING,
  BYTES,
};
const WELL_KNOWN: Readonly<Record<string, Type>> = { ANY, TIMESTAMP, DURATION };

export function readType(json: Json): Type {
  const [kind, value] = Object.entries(json)[0]!;
  switch (kind) {
    case 'dyn':
      return DYN;
    case 'null':
      return NULL;
    case 'primitive':
      return PRIMITIVES[value as string]!;
    case 'wellKnown':
      return WELL_KNOWN[value as string]!;
    case 'wrapper':
      return wrapper(PRIMITIVES[value as string]!);
    case 'listType':
      return list(readType((value as { elemType?: Json }).elemType ?? { dyn: {} }));
    case 'mapType': {
      const { keyType, valueType } = value as { keyType?: Json; valueType?: Json };
      return map(readType(keyType ?? { dyn: {} }), readType(valueType ?? { dyn: {} }));
    }
    case 'typeParam':
      return parameter(value as string);
    case 'type':
      return Object.keys(value as Json).length === 0 ? TYPE : typeOf(readType(value as Json));
    case 'abstractType': {
      const { name, parameterTypes } = value as { name: string; parameterTypes?: Json[] };
      return opaque(name, ...(parameterTypes ?? []).map(readType));
    }
    case 'messageType':
      if (value === 'google.protobuf.Duration') return DURATION;
      if (value === 'google.protobuf.Timestamp') return TIMESTAMP;
      if (typeof value === 'string' && !value.includes('TestAllTypes')) return object(value, {});
      throw new UnsupportedValue(String(value));
    default:
      throw new UnsupportedValue(kind);
  }
}
