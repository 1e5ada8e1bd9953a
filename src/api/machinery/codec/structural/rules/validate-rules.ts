// Validates the rules of one node of a definition's schema: their fields first, and then, if the
// schema is valid, the expressions.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { JSONSchemaProps, ValidationRule } from '../json-schema-props.ts';
import { type CompiledRule, RuleCompiler } from './compile.ts';
import { expressionCostErrors } from './costs.ts';
import { parseFieldPath } from './field-path.ts';
import type { RuleScope } from './scope.ts';

const REASONS = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
];
const KEYWORD = 'x-kubernetes-validations';

export function rulesOf(source: JSONSchemaProps): readonly ValidationRule[] {
  return source[KEYWORD] ?? [];
}

/** Returns the errors of the rules' fields without the expressions. `at`: the path of the node. */
export function validateRuleFields(source: JSONSchemaProps, at: FieldPath): FieldErrorList {
  return rulesOf(source).flatMap((rule, index) => {
    const here = at.child(KEYWORD).index(index);
    return [
      ...validateTexts(rule, here),
      ...validateReason(rule.reason, here.child('reason')),
      ...validateFieldPath(rule.fieldPath ?? '', source, here.child('fieldPath')),
    ];
  });
}

const hasLineBreaks = (text: string): boolean => /[\n\r]/.test(text);

function validateTexts(
  { rule = '', message = '', messageExpression = '' }: ValidationRule,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const trimmed = message.trim();
  if (rule.trim() === '') errors.push(field.required(at.child('rule'), 'rule is not specified'));
  else if (message !== '' && trimmed === '') {
    errors.push(field.invalid(at.child('message'), message, 'must be non-empty if specified'));
  } else if (hasLineBreaks(trimmed))
    errors.push(field.invalid(at.child('message'), message, 'must not contain line breaks'));
  else if (hasLineBreaks(rule.trim()) && trimmed === '') {
    errors.push(
      field.required(at.child('message'), 'message must be specified if rule contains line breaks'),
    );
  }
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(
      field.required(
        at.child('messageExpression'),
        'messageExpression must be non-empty if specified',
      ),
    );
  }
  return errors;
}

function validateReason(reason: string | null | undefined, at: FieldPath): FieldErrorList {
  if (reason === undefined || reason === null || REASONS.includes(reason)) return [];
  return [field.notSupported(at, reason, REASONS)];
}

function validateFieldPath(path: string, source: JSONSchemaProps, at: FieldPath): FieldErrorList {
  if (path === '') return [];
  const errors: FieldErrorList = [];
  if (path.trim() === '') errors.push(field.invalid(at, path, 'must be non-empty if specified'));
  if (hasLineBreaks(path)) errors.push(field.invalid(at, path, 'must not contain line breaks'));
  if (parseFieldPath(path, source) === undefined)
    errors.push(field.invalid(at, path, 'must be a valid path'));
  return errors;
}

export interface RuleContext {
  readonly scope: RuleScope;
  /**
   * The enclosing list or map whose items cannot be matched with those of the old object.
   * Undefined: there is none.
   */
  readonly uncorrelatable: FieldPath | undefined;
  /** Expressions that were accepted before may cost more than new ones. */
  readonly isUnchanged: boolean;
  /** Returns a rule that was compiled before; undefined if it was not. */
  readonly compiled?: ((rule: ValidationRule) => CompiledRule | undefined) | undefined;
}

/** Returns the errors of the expressions of a node with a valid schema. */
export function validateExpressions(
  source: JSONSchemaProps,
  at: FieldPath,
  context: RuleContext,
): FieldErrorList {
  const rules = rulesOf(source);
  if (rules.length === 0) return [];
  const here = at.child(KEYWORD);
  const { type } = context.scope;
  if (type === undefined) {
    const problem =
      'internal error: failed to construct type information for x-kubernetes-validations ' +
      'rules: unable to convert structural schema to ' +
      'CEL declarations';
    return [field.internal(here, new Error(problem))];
  }
  const compiler = new RuleCompiler(type);
  return rules.flatMap((rule, index) => {
    const precompiled = context.compiled?.(rule);
    if (precompiled === undefined) {
      const length = `${rule.rule}${rule.messageExpression ?? ''}`;
      const tooLong = field.expressionsTooLong(here.index(index).child('rule'), length);
      if (tooLong.length > 0) return tooLong;
    }
    return validateCompiled(
      precompiled ?? compiler.compile(rule, source),
      rule,
      here.index(index),
      context,
    );
  });
}

function validateCompiled(
  compiled: CompiledRule,
  rule: ValidationRule,
  at: FieldPath,
  context: RuleContext,
): FieldErrorList {
  const { scope, isUnchanged, uncorrelatable } = context;
  const errors: FieldErrorList = [];
  const [ofRule, ofMessage] = [at.child('rule'), at.child('messageExpression')];
  const cost = scope.costOf(compiled.expression?.maxCost ?? 0);
  if (!isUnchanged) errors.push(...expressionCostErrors(ofRule, 'estimated rule cost', cost));
  scope.total.add(ofRule, cost);
  if (compiled.problem !== undefined)
    errors.push(field.invalid(ofRule, shownRule(rule), compiled.problem));
  if (compiled.messageProblem !== undefined) {
    errors.push(field.invalid(ofMessage, shownRule(rule), compiled.messageProblem));
  } else if (compiled.messageExpression !== undefined) {
    // Upstream counts the message once, however many values there can be.
    const { maxCost } = compiled.messageExpression;
    if (!isUnchanged)
      errors.push(...expressionCostErrors(ofMessage, 'estimated messageExpression cost', maxCost));
    scope.total.add(ofMessage, maxCost);
  }
  if (compiled.usesOldSelf) {
    if (uncorrelatable !== undefined) {
      const detail =
        'oldSelf cannot be used on the uncorrelatable portion of the schema within ' +
        uncorrelatable.toString();
      errors.push(field.invalid(ofRule, rule.rule, detail));
    }
  } else if ((rule.optionalOldSelf ?? undefined) !== undefined) {
    errors.push(
      field.invalid(
        at.child('optionalOldSelf'),
        rule.optionalOldSelf,
        'may not be set if oldSelf is not used in rule',
      ),
    );
  }
  return errors;
}

/** Returns a rule in the form of messages. */
export function shownRule({
  rule,
  message,
  messageExpression,
  reason,
  fieldPath,
  optionalOldSelf,
}: ValidationRule): object {
  return {
    Rule: rule,
    Message: message ?? '',
    MessageExpression: messageExpression ?? '',
    Reason: reason ?? null,
    FieldPath: fieldPath ?? '',
    OptionalOldSelf: optionalOldSelf ?? null,
  };
}
