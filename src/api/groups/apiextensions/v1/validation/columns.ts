// Validation of additionalPrinterColumns.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { Column } from './definition.ts';
import { validateSimplePath } from './simple-path.ts';

const TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

/** Validates the columns of a version, or those common to all versions. */
export function validateColumns(
  columns: readonly Column[] | undefined,
  at: FieldPath,
): FieldErrorList {
  return (columns ?? []).flatMap((column, index) => validateColumn(column, at.index(index)));
}

function validateColumn(
  { name, type, format = '', jsonPath }: Column,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (name === '') errors.push(field.required(at.child('name')));
  const types = `must be one of ${TYPES.join(',')}`;
  if (type === '') errors.push(field.required(at.child('type'), types));
  else if (!TYPES.includes(type)) errors.push(field.invalid(at.child('type'), type, types));
  if (format !== '' && !FORMATS.includes(format)) {
    errors.push(field.invalid(at.child('format'), format, `must be one of ${FORMATS.join(',')}`));
  }
  const path = at.child('JSONPath');
  return [
    ...errors,
    ...(jsonPath === '' ? [field.required(path)] : validateSimplePath(jsonPath, path)),
  ];
}
