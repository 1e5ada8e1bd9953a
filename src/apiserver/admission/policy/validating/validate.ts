// What one validating policy says of one request, with one binding and one parameter.

import { Budget } from '#cel/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { type Evaluation, type Outcome, OutOfBudgetError } from '../evaluation.ts';
import { evaluateMatchConditions } from '../match-conditions.ts';
import type { CompiledPolicy, Validation } from './compile.ts';

export interface Decision {
  readonly allowed: boolean;
  /** Why not, or what was wrong with the expression. */
  readonly message: string;
  /** Of a denial: how its status is to be called. */
  readonly reason: string;
  /** The expression could not be evaluated. */
  readonly failed: boolean;
  readonly seconds: number;
}

/** For an audit log; a value that could not be made may be a reason to refuse the request. */
export type AuditAnnotation =
  | { readonly key: string; readonly value: string; readonly problem?: undefined }
  | { readonly key: string; readonly problem: string };

export interface Verdict {
  readonly decisions: readonly Decision[];
  readonly auditAnnotations: readonly AuditAnnotation[];
}

export interface ValidateConfig {
  readonly compiled: CompiledPolicy;
  readonly evaluation: Evaluation;
  /** Without what the authorizer answers: messages are for everybody to read. */
  readonly messages: Evaluation;
  /** What cannot be evaluated is no reason to refuse anything. */
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

/** What the expression says, if it is one line and not too long; else the policy's own words; else the expression that failed. */
async function messageOf(
  { messages }: ValidateConfig,
  validation: Validation,
  budget: Budget,
): Promise<string> {
  const { condition, message, messageExpression } = validation;
  if (messageExpression !== undefined) {
    const { value } = asValue(await messages.evaluate(messageExpression, budget));
    const said = typeof value === 'string' ? value.trim() : '';
    if (said !== '' && Buffer.byteLength(said) <= MAX_MESSAGE_BYTES && !said.includes('\n'))
      return said;
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
