// The rules of metav1.Condition, for every status that has such conditions.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Immutable } from './helpers.ts';
import type * as meta from './types.ts';

const STATUSES = ['False', 'True', 'Unknown'];
const MAX_REASON = 1024;
const MAX_MESSAGE = 32 * 1024;
const REASON_SOURCE = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const REASON = new RegExp(`^${REASON_SOURCE}$`);
const REASON_MESSAGE = validation.regexError(
  'a condition reason must start with alphabetic character, ' +
    "optionally followed by a string of alphanumeric characters or '_,:', " +
    "and must end with an alphanumeric character or '_'",
  REASON_SOURCE,
  'my_name',
  'MY_NAME',
  'MyName',
  'ReasonA,ReasonB',
  'ReasonA:ReasonB',
);

/**
 * Returns every error of the list at `at`: each type must occur once, and each condition be
 * complete.
 */
export function validateConditions(
  list: readonly Immutable<meta.Condition>[] | null | undefined,
  at: FieldPath,
): FieldErrorList {
  const seen = new Set<string>();
  return (list ?? []).flatMap((condition, index) => {
    const path = at.index(index);
    const errors = seen.has(condition.type)
      ? [field.duplicate(path.child('type'), condition.type)]
      : [];
    seen.add(condition.type);
    return [...errors, ...validateCondition(condition, path)];
  });
}

function validateCondition(condition: Immutable<meta.Condition>, at: FieldPath): FieldErrorList {
  const { type, status, observedGeneration = 0, lastTransitionTime, reason, message } = condition;
  const errors = validation.validateLabelName(type, at.child('type'));
  if (!STATUSES.includes(status))
    errors.push(field.notSupported(at.child('status'), status, STATUSES));
  if (observedGeneration < 0) {
    errors.push(
      field.invalid(
        at.child('observedGeneration'),
        observedGeneration,
        'must be greater than or equal to zero',
      ),
    );
  }
  if (lastTransitionTime === null) errors.push(field.required(at.child('lastTransitionTime')));
  const path = at.child('reason');
  if (reason === '') errors.push(field.required(path));
  else {
    if (!REASON.test(reason)) errors.push(field.invalid(path, reason, REASON_MESSAGE));
    if (Buffer.byteLength(reason) > MAX_REASON) errors.push(field.tooLong(path, '', MAX_REASON));
  }
  if (Buffer.byteLength(message) > MAX_MESSAGE)
    errors.push(field.tooLong(at.child('message'), '', MAX_MESSAGE));
  return errors;
}
