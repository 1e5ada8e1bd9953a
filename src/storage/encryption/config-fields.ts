// Reads lists and objects of a configuration file whose values may be secrets: errors do not show them.

import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Returns the items of a list. Absent and null count as an empty list. */
export function listOf(
  value: unknown,
  path: FieldPath,
  errors: FieldErrorList,
): readonly unknown[] | undefined {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  errors.push(field.typeInvalid(path, field.omitValue, 'must be a list'));
  return undefined;
}

export function fieldsOf(
  value: unknown,
  path: FieldPath,
  known: readonly string[],
  errors: FieldErrorList,
): Fields | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    // The error omits the value, which may be a misplaced secret.
    errors.push(field.typeInvalid(path, field.omitValue, 'must be an object'));
    return undefined;
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) errors.push(field.forbidden(path.child(name), 'unknown field'));
  }
  return value as Fields;
}
