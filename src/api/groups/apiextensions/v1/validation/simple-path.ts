// Validation of the paths of columns and of the scale subresource: field names with a dot before
// each.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';

/** Validates a path that is not empty. */
export function validateSimplePath(path: string, at: FieldPath): FieldErrorList {
  return path.startsWith('.')
    ? []
    : [field.invalid(at, path, 'must be a simple json path starting with .')];
}
