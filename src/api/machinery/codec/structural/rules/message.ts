// What a rule that is not met says.

import { type Activation, type Budget } from '#cel/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { ValidationRule } from '../json-schema-props.ts';
import type { CompiledExpression } from './compile.ts';

/** A message that an expression makes must not have more bytes. */
const MAX_MESSAGE_BYTES = 5 * 1024;

/** Returns how errors call a rule that could not be evaluated. */
export function ruleText({ rule, message }: ValidationRule): string {
  return (message ?? '') === '' ? rule.trim() : (message as string).trim();
}

/** Returns the message that does not depend on the value. */
export function fixedMessage(rule: ValidationRule): string {
  return (rule.message ?? '') === '' ? `failed rule: ${ruleText(rule)}` : ruleText(rule);
}

export type EvaluatedMessage =
  /** Undefined: there is none, and the fixed message takes its place. */
  | { readonly text: string | undefined; readonly problem?: undefined }
  /** The object's rules have cost too much. No more of them are evaluated. */
  | { readonly problem: string };

/** Evaluates a message. What it costs is taken from the budget, if it is enough. */
export function evaluateMessage(
  { program }: CompiledExpression,
  activation: Activation,
  budget: Budget,
): EvaluatedMessage {
  const { value, error, cost } = program.evaluate(activation);
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
