// Validates a value by a schema's keywords.

import type { JSONSchemaProps } from './json-schema-props.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { Correlation } from './correlation.ts';
import { ValueErrors } from './value-errors.ts';
import { ValidationRun, ValueValidator } from './values.ts';

export interface ValidateValueOptions {
  /** The path of the value. Undefined: it is a whole object. */
  readonly base?: FieldPath;
  /** False for defaults, to which fewer rules apply. Default: true. */
  readonly ofObjects?: boolean;
}

/** Validates a value once. Validators of objects are cached instead: see runValidator. */
export function validateValue(
  source: JSONSchemaProps,
  value: unknown,
  options: ValidateValueOptions = {},
): FieldErrorList {
  const { base, ofObjects = true } = options;
  return runValidator(new ValueValidator(source, { ofObjects }), value, base);
}

/** Runs a validator. `correlation`: for an update. */
export function runValidator(
  validator: ValueValidator,
  value: unknown,
  base?: FieldPath,
  correlation?: Correlation,
): FieldErrorList {
  const run = new ValidationRun();
  const errors = new ValueErrors();
  if (correlation === undefined) validator.check(value, run, errors);
  else validator.checkUpdated(value, run, errors, correlation);
  if (!run.isExhausted) return errors.toFieldErrors(base);
  return [field.forbidden(base, 'validating the object by its schema takes too long')];
}
