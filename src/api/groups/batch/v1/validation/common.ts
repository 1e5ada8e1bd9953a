// What the rules of this group share.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';

export const SPEC = new field.FieldPath('spec');
export const STATUS = new field.FieldPath('status');

export function immutableField(value: unknown, old: unknown, at: FieldPath): FieldErrorList {
  return semanticEqual(value, old) ? [] : [field.invalid(at, value ?? null, 'field is immutable')];
}

/** One of a closed set; where it is missing, the set is told. */
export function chosenFrom(
  value: string | undefined,
  known: readonly string[],
  at: FieldPath,
): FieldErrorList {
  if (value === undefined || value === '')
    return [field.required(at, `valid values: [${known.map(quote).join(' ')}]`)];
  return known.includes(value) ? [] : [field.notSupported(at, value, known)];
}

/** '' for an object without one: that is an error, but not of these rules. */
export function nameOf(metadata: { readonly name?: string | undefined }): string {
  return metadata.name ?? '';
}
