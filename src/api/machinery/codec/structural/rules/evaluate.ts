// Evaluates the rules of one node for one value.

import { adapterOf, Budget, EvaluationError, Optional } from '#cel/index.ts';
import type { Steps } from '#machinery/turn.ts';
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

  /** `warn`: called with each rule that an unchanged value violates. */
  constructor(warn?: (message: string) => void, budget = new Budget()) {
    this.budget = budget;
    this.#warn = warn;
  }

  /** Ends the evaluation, and reports the error if there is one. */
  stop(error?: FieldError): void {
    if (error !== undefined) this.errors.push(error);
    this.budget.remaining = -1;
  }

  get isStopped(): boolean {
    return this.budget.exhausted;
  }

  /** Reports that a value violates a rule. */
  report(error: FieldError, isDropped: boolean): void {
    if (isDropped) this.#warn?.(error.message);
    else this.errors.push(error);
  }
}

export interface Subject {
  /** The value, which is not null. */
  readonly value: unknown;
  /** Null or undefined: there is none. */
  readonly old: unknown;
  readonly place: Place;
  /** Absent for a new object. */
  readonly ratchet: Ratchet | undefined;
}

const NO_RULES: readonly CompiledRule[] = [];
const OUT_OF_BUDGET =
  'validation failed due to running out of cost budget, no further validation rules will be run';

/**
 * Returns the rules of a node to be evaluated for a value. Reports the error if they cannot be
 * evaluated.
 */
export function rulesFor(node: RuleNode, subject: Subject, run: RuleRun): readonly CompiledRule[] {
  if (node.rules.length === 0) return NO_RULES;
  if (node.compiled === undefined) {
    run.errors.push(
      problemAt(
        node,
        subject,
        'rule compiler initialization error: failed to convert to declType for CEL validation rules',
      ),
    );
    return NO_RULES;
  }
  if (run.budget.remaining <= 0) {
    run.stop(problemAt(node, subject, OUT_OF_BUDGET));
    return NO_RULES;
  }
  return node.compiled;
}

/** Returns the error of a rule that could not be evaluated. */
function problemAt(node: RuleNode, subject: Subject, detail: string): FieldError {
  return field.invalid(subject.place.toPath(), node.schema.type, detail);
}

export function* evaluateRule(
  compiled: CompiledRule,
  node: RuleNode,
  subject: Subject,
  run: RuleRun,
): Steps<void> {
  const { expression, rule, usesOldSelf } = compiled;
  if (compiled.problem !== undefined) {
    run.errors.push(problemAt(node, subject, `rule compile error: ${compiled.problem}`));
    return;
  }
  if (expression === undefined) return;
  const old = subject.old ?? undefined;
  if (usesOldSelf && old === undefined && rule.optionalOldSelf !== true) return;
  const oldSelf = usesOldSelf && rule.optionalOldSelf === true ? optionalOf(old, node) : old;
  const {
    value: result,
    error,
    cost,
  } = yield* expression.program.evaluateInSteps({ self: subject.value, oldSelf });
  if (cost > run.budget.remaining) {
    run.stop(problemAt(node, subject, OUT_OF_BUDGET));
    return;
  }
  run.budget.remaining -= cost;
  if (result === true) return;
  if (error === undefined) yield* reportUnmet(compiled, node, subject, run);
  else reportFailed(rule, error, node, subject, run);
}

function optionalOf(old: unknown, node: RuleNode): Optional {
  if (old === undefined) return Optional.none;
  const value = readOld(old, node);
  if (!(value instanceof EvaluationError)) return new Optional(value);
  return Optional.failing(
    new EvaluationError(`unsupported conversion to ref.Val: (*errors.errorString)${value.message}`),
  );
}

/**
 * Returns the old value for expressions, or the reason why it is unavailable: it may be older than
 * the schema.
 */
function readOld(old: unknown, node: RuleNode): unknown {
  try {
    return adapterOf(node.type!)(old);
  } catch (error) {
    if (error instanceof EvaluationError) return error;
    throw error;
  }
}

function reportFailed(
  rule: ValidationRule,
  error: EvaluationError,
  node: RuleNode,
  subject: Subject,
  run: RuleRun,
): void {
  const { message, reason } = error;
  if (message.startsWith('no such overload')) {
    const detail =
      'call arguments did not match a supported operator, function or macro signature for rule';
    run.errors.push(problemAt(node, subject, `'${message}': ${detail}: ${ruleText(rule)}`));
  } else if (reason === 'costLimitExceeded') {
    const detail =
      'no further validation rules will be run due to call cost exceeds limit for rule';
    run.stop(problemAt(node, subject, `'${message}': ${detail}: ${ruleText(rule)}`));
  } else run.errors.push(problemAt(node, subject, `${message} evaluating rule: ${ruleText(rule)}`));
}

function* reportUnmet(
  compiled: CompiledRule,
  node: RuleNode,
  subject: Subject,
  run: RuleRun,
): Steps<void> {
  const { rule } = compiled;
  const { value, ratchet } = subject;
  const at = pathOf(subject.place, compiled.fieldPath);
  const isDropped = !compiled.usesOldSelf && ratchet?.isUnchanged === true;
  let text: string | undefined;
  if (compiled.messageExpression !== undefined) {
    const oldSelf = oldSelfOfMessage(rule, node, subject.old ?? undefined);
    const evaluated = yield* evaluateMessage(
      compiled.messageExpression,
      { self: value, oldSelf },
      run.budget,
    );
    if (evaluated.problem !== undefined) {
      run.report(field.invalid(at, node.schema.type, evaluated.problem), isDropped);
      run.stop();
      return;
    }
    text = evaluated.text;
  }
  const isWhole = node.schema.type === 'object' || node.schema.type === 'array';
  run.report(
    errorForReason(rule.reason, at, isWhole ? field.omitValue : value, text ?? fixedMessage(rule)),
    isDropped,
  );
}

/**
 * Returns the old value for a message. It is available only if a rule of the node uses it and,
 * unlike in the rule itself, never an optional value.
 */
function oldSelfOfMessage(rule: ValidationRule, node: RuleNode, old: unknown): unknown {
  if (old === undefined || !node.usesOldSelf) return undefined;
  if (rule.optionalOldSelf !== true) return old;
  const value = readOld(old, node);
  return value instanceof EvaluationError ? undefined : value;
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
