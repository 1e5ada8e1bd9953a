// Accesses fields in custom objects by paths in dot notation ('.spec.replicas'), as the scale
// subresource defines them.

import { getOwn, isPlainObject } from '#machinery/deep.ts';
import { formatValue } from '#machinery/text/go-format.ts';
import { withSortedField } from './sorted-field.ts';

/** A value on the path has another type than the path needs. The message is upstream's. */
export class NestedFieldError extends Error {
  override name = 'NestedFieldError';
}

type JsonObject = Readonly<Record<string, unknown>>;

/** Returns the names of a path: ['spec', 'replicas'] for '.spec.replicas'. */
export function namesOfPath(path: string): readonly string[] {
  return (path.startsWith('.') ? path.slice(1) : path).split('.');
}

/**
 * Returns the value at the path; undefined if it is missing. Throws NestedFieldError if a value on
 * the path is not an object.
 */
function nestedField(object: JsonObject, names: readonly string[]): unknown {
  let value: unknown = object;
  for (const [index, name] of names.entries()) {
    if (!isPlainObject(value)) {
      // A null on the path counts as a missing field, as upstream.
      if (value === null) return undefined;
      throw wrongType(names.slice(0, index + 1), value, 'map[string]interface{}');
    }
    value = getOwn(value, name);
    if (value === undefined) return undefined;
  }
  return value;
}

/** Returns the integer at the path; undefined if it is missing. Throws NestedFieldError. */
export function nestedInteger(object: JsonObject, names: readonly string[]): number | undefined {
  const value = nestedField(object, names);
  if (value === undefined) return undefined;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'number' || !Number.isInteger(value)) throw wrongType(names, value, 'int64');
  return value;
}

/** Returns the text at the path; undefined if it is missing. Throws NestedFieldError. */
export function nestedString(object: JsonObject, names: readonly string[]): string | undefined {
  const value = nestedField(object, names);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw wrongType(names, value, 'string');
  return value;
}

/**
 * Returns the object with another value at the path. Missing parent objects are added. Throws
 * NestedFieldError.
 */
export function withNestedField<T extends object>(
  object: T,
  names: readonly string[],
  value: unknown,
): T {
  return setNested(object as JsonObject, names, 0, value) as T;
}

function setNested(
  object: JsonObject,
  names: readonly string[],
  at: number,
  value: unknown,
): JsonObject {
  const name = names[at]!;
  const before = getOwn(object, name);
  const isLast = at === names.length - 1;
  if (!isLast && before !== undefined && !isPlainObject(before)) {
    const place = jsonPath(names.slice(0, at + 1));
    throw new NestedFieldError(
      `value cannot be set because ${place} is not a map[string]interface{}`,
    );
  }
  const inner = isLast ? value : setNested((before ?? {}) as JsonObject, names, at + 1, value);
  return withSortedField(object, name, inner);
}

function wrongType(names: readonly string[], value: unknown, expected: string): NestedFieldError {
  return new NestedFieldError(
    `${jsonPath(names)} accessor error: ${formatValue(value)} is of the type ` +
      `${goTypeName(value)}, expected ${expected}`,
  );
}

function jsonPath(names: readonly string[]): string {
  return `.${names.join('.')}`;
}

/** Returns the Go type that a JSON value has in upstream's server. */
export function goTypeName(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}
