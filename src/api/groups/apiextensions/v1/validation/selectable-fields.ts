// Validation of the fields in field selectors.

import { findField } from '#api/machinery/codec/structural/find-field.ts';
import type { JSONSchemaProps } from '#api/machinery/codec/structural/json-schema-props.ts';
import {
  structuralSchema,
  type StructuralSchema,
  UnsupportedSchemaError,
} from '#api/machinery/codec/structural/structural-schema.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { SelectableField } from './definition.ts';

export const MAX_SELECTABLE_FIELDS = 8;
const TYPES = ['string', 'boolean', 'integer'];

export interface SelectableFieldsOptions {
  /** The path of the schema's owner. */
  readonly at: FieldPath;
  /** The error for a missing schema. */
  readonly missing: string;
  readonly allowMany: boolean;
}

/** Validates the selectable fields of a version, or those common to all versions. */
export function validateSelectableFields(
  fields: readonly SelectableField[] | undefined,
  source: JSONSchemaProps | undefined,
  { at, missing, allowMany }: SelectableFieldsOptions,
): FieldErrorList {
  if (fields === undefined || fields.length === 0) return [];
  const here = at.child('selectableFields');
  if (source === undefined) return [field.invalid(here, '', missing)];
  let schema: StructuralSchema;
  try {
    schema = structuralSchema(source);
  } catch (error) {
    // An unsupported schema has no fields to select.
    if (error instanceof UnsupportedSchemaError)
      return [field.invalid(at.child('schema.openAPIV3Schema'), '', error.message)];
    throw error;
  }
  const errors: FieldErrorList = [];
  const unique = new Set<string>();
  fields.forEach((selectable, index) =>
    errors.push(...validateField(selectable, schema, here.index(index).child('jsonPath'), unique)),
  );
  if (unique.size > MAX_SELECTABLE_FIELDS && !allowMany)
    errors.push(field.tooMany(here, unique.size, MAX_SELECTABLE_FIELDS));
  return errors;
}

/** Validates a field. `unique`: the paths of the previous fields. */
function validateField(
  { jsonPath }: SelectableField,
  schema: StructuralSchema,
  at: FieldPath,
  unique: Set<string>,
): FieldErrorList {
  if (jsonPath === '') return [field.required(at)];
  const selected = findField(jsonPath, schema);
  if (typeof selected === 'string')
    return [field.invalid(at, jsonPath, `is an invalid path: ${selected}`)];
  const errors: FieldErrorList = [];
  if (selected.path[0] === 'metadata')
    errors.push(field.invalid(at, jsonPath, 'must not point to fields in metadata'));
  if (selected.schema === undefined || !TYPES.includes(selected.schema.type)) {
    const detail =
      'must point to a field of type string, boolean or integer. Enum string fields and ' +
      'strings with formats are allowed.';
    errors.push(field.invalid(at, jsonPath, detail));
  }
  const path = selected.path.join('.');
  if (unique.has(path)) errors.push(field.duplicate(at, jsonPath));
  unique.add(path);
  return errors;
}
