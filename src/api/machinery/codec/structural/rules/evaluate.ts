// Evaluates the rules of one node for one value.

import { adapterOf, Budget, Optional, type Type } from '#cel/index.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldError, FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { ValidationRule } from '../json-schema-props.ts';
import type { CompiledRule } from './compile.ts';
import { evaluateMessage, fixedMessage, ruleText } from './message.ts';
import type { Place } from './place.ts';
import type { Ratchet } from './ratchet.ts';
import type { RuleNode } from './rule-node.ts';

/** The evaluation of all rules for one object. */
export class RuleRun {
  readonly errors: FieldErrorList = [];
  readonly budget: Budget;
  readonly #warn: ((message: string) => void) | undefined;

  /** `warn`: called with each rule that a value which did not change does not meet. */
  constructor(warn?: (message: string) => void, budget = new Budget()) {
    this.budget = budget;
    this.#warn = warn;
  }

  /** Reports an error after which no more rules are evaluated. */
  stop(error?: FieldError): void {
    if (error !== undefined) this.errors.push(error);
    this.budget.remaining = -1;
  }

  get isStopped(): boolean {
    return this.budget.exhausted;
  }

  /** Reports that a value does not meet a rule. */
  report(error: FieldError, isDropped: boolean): void {
    if (isDropped) this.#warn?.(error.message);
    else this.errors.push(error);
  }
}

export interface Subject {
  /** Not null. */
  readonly value: unknown;
  /** Null or undefined: there is none. */
  readonly old: unknown;
  readonly place: Place;
  /** Absent: of a new object. */
  readonly ratchet: Ratchet | undefined;
}

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';

export function evaluateRules(node: RuleNode, subject: Subject, run: RuleRun): void {
  if (node.rules.length === 0) return;
  const { compiled, type } = node;
  if (compiled === undefined || type === undefined) {
    const problem = 'rule compiler initialization error: failed to convert to declType for CEL validation rules';
    run.errors.push(field.invalid(subject.place.toPath(), node.schema.type, problem));
    return;
  }
  if (run.budget.remaining <= 0) {
    run.stop(field.invalid(subject.place.toPath(), node.schema.type, OUT_OF_BUDGET));
    return;
  }
  // A message sees the old value only if a rule of the node does.
  const seesOld = compiled.some(({ usesOldSelf }) => usesOldSelf);
  for (let index = 0; index < compiled.length && !run.isStopped; index++) {
    evaluateRule(compiled[index] as CompiledRule, node.rules[index] as ValidationRule, { ...subject, type, seesOld, node }, run);
  }
}

interface RuleSubject extends Subject {
  readonly type: Type;
  readonly seesOld: boolean;
  readonly node: RuleNode;
}

function evaluateRule(compiled: CompiledRule, rule: ValidationRule, subject: RuleSubject, run: RuleRun): void {
  const { value, place, type } = subject;
  const shown = subject.node.schema.type;
  const fail = (detail: string): FieldError => field.invalid(place.toPath(), shown, detail);
  if (compiled.problem !== undefined) {
    run.errors.push(fail(`rule compile error: ${compiled.problem}`));
    return;
  }
  if (compiled.expression === undefined) return;
  const old = subject.old ?? undefined;
  const isOptional = rule.optionalOldSelf === true;
  if (compiled.usesOldSelf && old === undefined && !isOptional) return;
  const oldSelf = !compiled.usesOldSelf
    ? undefined
    : !isOptional
      ? old
      : old === undefined
        ? Optional.none
        : new Optional(adapterOf(type)(old));
  const { value: result, error, cost } = compiled.expression.program.evaluate({ self: value, oldSelf });
  if (cost > run.budget.remaining) {
    run.stop(fail(OUT_OF_BUDGET));
    return;
  }
  run.budget.remaining -= cost;
  if (result === true) return;
  if (error !== undefined) {
    const { message } = error;
    if (message.startsWith('no such overload')) {
      const detail = 'call arguments did not match a supported operator, function or macro signature for rule';
      run.errors.push(fail(`'${message}': ${detail}: ${ruleText(rule)}`));
    } else if (error.reason === 'costLimitExceeded') {
      const detail = 'no further validation rules will be run due to call cost exceeds limit for rule';
      run.stop(fail(`'${message}': ${detail}: ${ruleText(rule)}`));
    } else run.errors.push(fail(`${message} evaluating rule: ${ruleText(rule)}`));
    return;
  }
  reportUnmet(compiled, rule, subject, run);
}

function reportUnmet(compiled: CompiledRule, rule: ValidationRule, subject: RuleSubject, run: RuleRun): void {
  const { value, old, type, seesOld, ratchet, node } = subject;
  const at = pathOf(subject.place, compiled.fieldPath);
  const report = (error: FieldError): void => run.report(error, !compiled.usesOldSelf && ratchet?.isUnchanged === true);
  let text: string | undefined;
  if (compiled.messageExpression !== undefined) {
    // Other than the rule itself, it never sees an optional value.
    const seen = rule.optionalOldSelf === true ? adapterOf(type)(old) : old;
    const oldSelf = seesOld && (old ?? undefined) !== undefined ? seen : undefined;
    const evaluated = evaluateMessage(compiled.messageExpression, { self: value, oldSelf }, run.budget);
    if (evaluated.problem !== undefined) {
      report(field.invalid(at, node.schema.type, evaluated.problem));
      run.stop();
      return;
    }
    text = evaluated.text;
  }
  const isWhole = node.schema.type === 'object' || node.schema.type === 'array';
  report(errorForReason(rule.reason, at, isWhole ? field.omitValue : value, text ?? fixedMessage(rule)));
}

function pathOf(place: Place, below: string | undefined): FieldPath | undefined {
  const at = place.toPath();
  return below === undefined ? at : (at ?? field.path('')).child(below);
}

function errorForReason(
  reason: string | null | undefined,
  at: FieldPath | undefined,
  value: unknown,
  detail: string,
): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return field.forbidden(at, detail);
    case 'FieldValueRequired':
      return field.required(at, detail);
    case 'FieldValueDuplicate':
      return field.duplicate(at, value);
    default:
      return field.invalid(at, value, detail);
  }
}
