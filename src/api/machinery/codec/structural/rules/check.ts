// The last part of validating an object: its rules, unless other errors prevent their evaluation.

import type { Budget } from '#cel/index.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldErrorType, FieldPath } from '#machinery/validation/field.ts';
import type { Steps } from '#machinery/turn.ts';
import type { Correlation } from '../correlation.ts';
import { RuleRun } from './evaluate.ts';
import { evaluateObject } from './object-rules.ts';
import { Place } from './place.ts';
import { Ratchet } from './ratchet.ts';
import type { RuleNode } from './rule-node.ts';

export interface CheckedObject {
  readonly value: unknown;
  /** Absent: the object is new. */
  readonly old?: unknown;
  /** Absent: no error is dropped because of an unchanged value. */
  readonly correlation?: Correlation;
  /** The path of the value. Absent: it is a whole object. */
  readonly base?: FieldPath;
  /** The cost limit of the rules. Default: the limit for one object. */
  readonly budget?: Budget;
  /** Called with each rule that an unchanged value violates. */
  readonly warn?: ((message: string) => void) | undefined;
}

/** Errors of these types mean that a value lacks the form that rules require. */
const BLOCKING: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** Returns the errors of the rules, in steps. `prior`: other errors of the object. */
export function* checkRules(
  node: RuleNode | undefined,
  object: CheckedObject,
  prior: FieldErrorList,
): Steps<FieldErrorList> {
  if (node === undefined) return [];
  if (prior.some(({ type }) => BLOCKING.has(type))) {
    const detail =
      'some validation rules were not checked because the object was invalid; ' +
      'correct the existing errors to complete validation';
    return [field.invalid(undefined, null, detail)];
  }
  const run = new RuleRun(object.warn, object.budget);
  const { value, old, correlation, base } = object;
  yield* evaluateObject(
    node,
    {
      value,
      old,
      place: new Place(base),
      ratchet: correlation === undefined ? undefined : new Ratchet(correlation),
    },
    run,
  );
  return run.errors;
}
