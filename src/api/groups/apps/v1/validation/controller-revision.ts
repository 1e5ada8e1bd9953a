// Validation of controller revisions: immutable snapshots of a workload.

import { isPlainObject } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import { nonNegative } from '#api/groups/core/v1/validation/common.ts';
import { immutableField } from './common.ts';
import type { ControllerRevision } from './types.ts';

const DATA = new field.FieldPath('data');

export function validateControllerRevision({ data, revision }: ControllerRevision): FieldErrorList {
  const errors = nonNegative(revision, field.path('revision'));
  // The data may be secret and is not in the message.
  if (data === null || data === undefined) errors.push(field.required(DATA, 'data is mandatory'));
  else if (!isPlainObject(data))
    errors.push(field.invalid(DATA, '<value omitted>', 'data must be a valid JSON object'));
  return errors;
}

export function validateControllerRevisionUpdate(
  revision: ControllerRevision,
  old: ControllerRevision,
): FieldErrorList {
  return [
    ...nonNegative(revision.revision, field.path('revision')),
    ...immutableField(revision.data, old.data, DATA),
  ];
}
