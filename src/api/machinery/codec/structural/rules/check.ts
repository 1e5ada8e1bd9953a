// The last part of validating an object: its rules, unless what is wrong with it already keeps them from being evaluated.

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
  /** Absent: nothing is dropped because it did not change. */
  readonly correlation?: Correlation | undefined;
  /** The path of the value. Absent: it is a whole object. */
  readonly base?: FieldPath;
  /** What the rules may cost. Absent: what those of one object may cost. */
  readonly budget?: Budget;
  /** Called with each rule that a value which did not change does not meet. */
  readonly warn?: ((message: string) => void) | undefined;
}

/** Errors of these types say that a value has not the form that rules rely on. */
const BLOCKING: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** Returns the errors of the rules, in steps. `prior`: what is wrong with the object beside them. */
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
