// Validation shared by the kinds of this group.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';

export const SPEC = new field.FieldPath('spec');
export const STATUS = new field.FieldPath('status');

export function immutableField(value: unknown, old: unknown, at: FieldPath): FieldErrorList {
  return semanticEqual(value, old) ? [] : [field.invalid(at, value ?? null, 'field is immutable')];
}

/** Validates a required enum. The error for a missing value lists the allowed ones. */
export function chosenFrom(
  value: string | undefined,
  known: readonly string[],
  at: FieldPath,
): FieldErrorList {
  if (value === undefined || value === '')
    return [field.required(at, `valid values: [${known.map(quote).join(' ')}]`)];
  return known.includes(value) ? [] : [field.notSupported(at, value, known)];
}

/** Returns the name; '' for an object without one, which other rules reject. */
export function nameOf(metadata: { readonly name?: string | undefined }): string {
  return metadata.name ?? '';
}
