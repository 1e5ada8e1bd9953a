// Evaluates one validating policy for one request, with one binding and one parameter.

import { Budget } from '#cel/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { type Evaluation, type Outcome, OutOfBudgetError } from '../evaluation.ts';
import { evaluateMatchConditions } from '../match-conditions.ts';
import type { CompiledPolicy, Validation } from './compile.ts';

export interface Decision {
  readonly allowed: boolean;
  /** The message of the denial, or the error of the expression. */
  readonly message: string;
  /** The reason of the denial's status. */
  readonly reason: string;
  /** The expression could not be evaluated. */
  readonly failed: boolean;
  readonly seconds: number;
}

/**
 * An annotation for an audit log. An error in its expression may be a reason to reject the request.
 */
export type AuditAnnotation =
  | { readonly key: string; readonly value: string; readonly problem?: undefined }
  | { readonly key: string; readonly value?: undefined; readonly problem: string };

export interface Verdict {
  readonly decisions: readonly Decision[];
  readonly auditAnnotations: readonly AuditAnnotation[];
}

export interface ValidateConfig {
  readonly compiled: CompiledPolicy;
  readonly evaluation: Evaluation;
  /**
   * The evaluation for message expressions. It has no authorizer, since every user may read
   * messages.
   */
  readonly messages: Evaluation;
  /** Errors of evaluation do not reject the request. */
  readonly ignoreFailures: boolean;
  readonly clock: Clock;
}

const NOTHING: Verdict = { decisions: [], auditAnnotations: [] };
const MAX_MESSAGE_BYTES = 5 * 1024;

export async function validate(config: ValidateConfig): Promise<Verdict> {
  const { compiled, evaluation, ignoreFailures, clock } = config;
  const failure = (message: string, seconds = 0): Decision => ({
    allowed: ignoreFailures,
    message,
    reason: '',
    failed: true,
    seconds,
  });
  const matched = await evaluateMatchConditions(evaluation, compiled.matchConditions);
  if (matched.problem !== undefined) {
    return ignoreFailures
      ? NOTHING
      : { decisions: [failure(matched.problem)], auditAnnotations: [] };
  }
  if (!matched.matches) return NOTHING;
  try {
    const budget = new Budget();
    const outcomes: {
      readonly validation: Validation;
      readonly outcome: Outcome;
      readonly seconds: number;
    }[] = [];
    for (const validation of compiled.validations) {
      const start = clock.monotonic();
      const outcome = await evaluation.evaluate(validation.condition, budget);
      outcomes.push({ validation, outcome, seconds: (clock.monotonic() - start) / 1000 });
    }
    const decisions: Decision[] = [];
    let spent: OutOfBudgetError | undefined;
    for (const { validation, outcome, seconds } of outcomes) {
      if (outcome.problem !== undefined) {
        decisions.push(failure(outcome.problem, seconds));
      } else if (outcome.value === true) {
        decisions.push({ allowed: true, message: '', reason: '', failed: false, seconds });
      } else {
        try {
          const message = await messageOf(config, validation, budget);
          decisions.push({
            allowed: false,
            message,
            reason: validation.reason ?? 'Invalid',
            failed: false,
            seconds,
          });
        } catch (error) {
          if (!(error instanceof OutOfBudgetError)) throw error;
          spent = error;
          decisions.push(failure(`failed messageExpression: ${spent.message}`, seconds));
        }
      }
    }
    return { decisions, auditAnnotations: await annotate(config) };
  } catch (error) {
    if (!(error instanceof OutOfBudgetError)) throw error;
    return { decisions: [failure(error.message)], auditAnnotations: [] };
  }
}

/**
 * Returns the message of a failed validation: the result of its message expression, if it is one
 * line and not too long; else its fixed message; else the expression that failed.
 */
async function messageOf(
  { messages }: ValidateConfig,
  validation: Validation,
  budget: Budget,
): Promise<string> {
  const { condition, message, messageExpression } = validation;
  if (messageExpression !== undefined) {
    const { value } = asValue(await messages.evaluate(messageExpression, budget));
    const text = typeof value === 'string' ? value.trim() : '';
    if (text !== '' && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES && !text.includes('\n'))
      return text;
  }
  return message.trim() || `failed expression: ${condition.source.trim()}`;
}

const asValue = (outcome: Outcome): { readonly value: unknown } =>
  'value' in outcome ? outcome : { value: undefined };

async function annotate({
  compiled,
  evaluation,
}: ValidateConfig): Promise<readonly AuditAnnotation[]> {
  const budget = new Budget();
  const annotations: AuditAnnotation[] = [];
  for (const { key, value: expression } of compiled.auditAnnotations) {
    const outcome = await evaluation.evaluate(expression, budget);
    if (outcome.problem !== undefined) {
      annotations.push({ key, problem: outcome.problem });
    } else if (typeof outcome.value === 'string' && outcome.value.trim() !== '') {
      annotations.push({ key, value: outcome.value.trim() });
    }
  }
  return annotations;
}
