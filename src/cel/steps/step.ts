// A step of an evaluation: a closure that takes the frame and answers a value, or throws EvaluationError.

import type { Frame } from '../cost.ts';
import { EvaluationError } from '../errors.ts';
import type { Value } from '../values.ts';

export type Step = (frame: Frame) => Value;

/** An error that `||` and `&&` may absorb; others (a spent budget, a mistake of ours) go through. */
export function absorbed(error: unknown): EvaluationError {
  if (error instanceof EvaluationError && error.reason === 'error') return error;
  throw error;
}
