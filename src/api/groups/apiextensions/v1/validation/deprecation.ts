// Validation of the warning for clients of a deprecated version.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { Version } from './definition.ts';
import { pointerTo } from './shown-values.ts';

const MAX_BYTES = 256;
const NOT_PRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

export function validateDeprecationWarning(
  { deprecated = false, deprecationWarning }: Version,
  at: FieldPath,
): FieldErrorList {
  if (deprecationWarning === undefined) return [];
  const invalid = (detail: string): field.FieldError =>
    field.invalid(at, pointerTo(deprecationWarning), detail);
  if (!deprecated) return [invalid('can only be set for deprecated versions')];
  const errors: FieldErrorList = [];
  if (Buffer.byteLength(deprecationWarning) > MAX_BYTES)
    errors.push(invalid(`must be <= ${MAX_BYTES} characters long`));
  if (deprecationWarning === '') errors.push(invalid('must not be an empty string'));
  const match = NOT_PRINTABLE.exec(deprecationWarning);
  if (match !== null) {
    const index = Buffer.byteLength(deprecationWarning.slice(0, match.index));
    errors.push(
      invalid(
        `must only contain printable UTF-8 characters; non-printable character found at index ${index}`,
      ),
    );
  }
  return errors;
}
