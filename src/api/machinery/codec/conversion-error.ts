// The errors of upstream's converter of unstructured objects (apimachinery
// pkg/runtime/converter.go) for values of a wrong type. Upstream applies it to strategic merge
// patches; all other bodies are decoded as JSON, whose errors have other texts.

import type { MessageDescriptor, TypeRef } from '../descriptor.ts';
import { goTypeName } from './scalars.ts';

/**
 * Returns the first error in the order of the schema's fields; undefined if the converter's text
 * equals that of the decoder.
 */
export function conversionError(message: MessageDescriptor, value: unknown): string | undefined {
  return ofMessage(message, value);
}

function ofType(type: TypeRef, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  switch (type.kind) {
    case 'message':
      return ofMessage(type.message, value);
    case 'list':
      if (!Array.isArray(value)) return `cannot restore slice from ${goKind(value)}`;
      return firstOf(value, (item) => ofType(type.items, item));
    case 'map':
      if (goKind(value) !== 'map') return `cannot restore map from ${goKind(value)}`;
      return firstOf(Object.values(value), (item) => ofType(type.values, item));
    case 'either':
      // The type has its own decoder in both.
      return undefined;
    case 'scalar':
      return ofScalar(type, value);
  }
}

function ofMessage(message: MessageDescriptor, value: unknown): string | undefined {
  if (goKind(value) !== 'map') return `cannot restore struct from: ${goKind(value)}`;
  const object = value as Readonly<Record<string, unknown>>;
  return firstOf(message.fields, ({ name, type }) =>
    Object.hasOwn(object, name) ? ofType(type, object[name]) : undefined,
  );
}

/** Go's kind of a scalar's type. Types without an entry decode JSON themselves. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  uint8: 'uint8',
  uint32: 'uint32',
  uint64: 'uint64',
  double: 'float64',
};

function ofScalar(type: TypeRef & { kind: 'scalar' }, value: unknown): string | undefined {
  const actualKind = goKind(value);
  if (type.scalar === 'bytes')
    return actualKind === 'string' || actualKind === 'slice'
      ? undefined
      : `cannot restore slice from ${actualKind}`;
  const expectedKind = KINDS[type.scalar];
  if (expectedKind === undefined || expectedKind === actualKind) return undefined;
  const isNumber = expectedKind !== 'string' && expectedKind !== 'bool';
  switch (actualKind) {
    case 'int64':
      // Go could convert integers to strings, as code points; the converter does not allow it.
      if (expectedKind === 'string') return `cannot convert int64 to ${goTypeName(type)}`;
      return isNumber ? undefined : `unrecognized type: ${expectedKind}`;
    case 'float64':
      return isNumber
        ? `cannot convert float64 to ${goTypeName(type)}`
        : `unrecognized type: ${expectedKind}`;
    default:
      return `unrecognized type: ${expectedKind}`;
  }
}

/** Returns the Go kind of a parsed JSON value. */
function goKind(value: unknown): string {
  if (Array.isArray(value)) return 'slice';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64';
    default:
      return 'map';
  }
}

function firstOf<T>(
  values: readonly T[],
  error: (value: T) => string | undefined,
): string | undefined {
  for (const value of values) {
    const problem = error(value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
