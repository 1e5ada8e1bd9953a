// Match conditions: expressions that decide, after all rules, whether a policy applies to a
// request.

import { Budget } from '#cel/index.ts';
import { type Evaluation, type Expression, OutOfBudgetError } from './evaluation.ts';

/** The cost budget of all match conditions of a policy for one request, in upstream's units. */
const MATCH_CONDITIONS_BUDGET = 2_500_000;

/**
 * The result of match conditions. A condition that is false decides, even if others have errors.
 * `problem`: an error prevents the decision. `failures`: the number of conditions with errors
 * before the decision.
 */
export type Matched =
  | { readonly matches: boolean; readonly failures: number; readonly problem?: undefined }
  | { readonly problem: string; readonly failures: number };

export async function evaluateMatchConditions(
  evaluation: Evaluation,
  conditions: readonly Expression[],
): Promise<Matched> {
  const budget = new Budget(MATCH_CONDITIONS_BUDGET);
  const problems = new Set<string>();
  let matches = true;
  let failures = 0;
  for (const condition of conditions) {
    let outcome;
    try {
      outcome = await evaluation.evaluate(condition, budget);
    } catch (error) {
      if (!(error instanceof OutOfBudgetError)) throw error;
      return { problem: error.message, failures };
    }
    if (outcome.problem !== undefined) {
      problems.add(outcome.problem);
      if (matches) failures++;
    } else if (outcome.value === false) matches = false;
  }
  if (!matches || problems.size === 0) return { matches, failures };
  const texts = [...problems].join(', ');
  return { problem: problems.size === 1 ? texts : `[${texts}]`, failures };
}
