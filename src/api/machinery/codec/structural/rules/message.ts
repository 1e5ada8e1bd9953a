// The messages of violated rules.

import { type Activation, type Budget } from '#cel/index.ts';
import type { Steps } from '#machinery/turn.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { ValidationRule } from '../json-schema-props.ts';
import type { CompiledExpression } from './compile.ts';

/** The maximum size of a message from an expression, in bytes. */
const MAX_MESSAGE_BYTES = 5 * 1024;

/** Returns the name of a rule in errors of its evaluation. */
export function ruleText({ rule, message }: ValidationRule): string {
  return (message ?? '') === '' ? rule.trim() : message!.trim();
}

/** Returns the message that does not depend on the value. */
export function fixedMessage(rule: ValidationRule): string {
  return (rule.message ?? '') === '' ? `failed rule: ${ruleText(rule)}` : ruleText(rule);
}

export type EvaluatedMessage =
  /** Undefined: there is none, and the fixed message is used. */
  | { readonly text: string | undefined; readonly problem?: undefined }
  /** The object's rules have exceeded their budget. No more of them are evaluated. */
  | { readonly problem: string };

/** Evaluates a message. Its cost is subtracted from the budget, if that suffices. */
export function* evaluateMessage(
  { program }: CompiledExpression,
  activation: Activation,
  budget: Budget,
): Steps<EvaluatedMessage> {
  const { value, error, cost } = yield* program.evaluateInSteps(activation);
  if (cost > budget.remaining) {
    const detail =
      'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run';
    return { problem: detail };
  }
  if (error?.reason === 'costLimitExceeded') {
    const detail =
      'no further validation rules will be run due to call cost exceeds limit for messageExpression';
    return { problem: `${detail}: ${quote(program.source)}` };
  }
  budget.remaining -= cost;
  if (typeof value !== 'string') return { text: undefined };
  const text = value.trim();
  const isFit = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES;
  return { text: isFit ? text : undefined };
}
