// A step of an evaluation: a closure that takes the frame and returns a value, or throws
// EvaluationError.

import type { Frame } from '../cost.ts';
import { EvaluationError } from '../errors.ts';
import type { Value } from '../values.ts';

export type Step = (frame: Frame) => Value;

/**
 * Returns an error that `||` and `&&` may absorb; rethrows any other (an exceeded budget, a bug).
 */
export function absorbed(error: unknown): EvaluationError {
  if (error instanceof EvaluationError && error.reason === 'error') return error;
  throw error;
}

/** Returns the step with a result that is kept if the evaluation is suspended after it. */
export function keeping(step: Step): Step {
  return (frame) =>
    frame.progress === undefined ? step(frame) : frame.progress.evaluate(frame, step);
}
