// Validation of success policies, by which an indexed job succeeds before all its indexes do.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { nonNegative } from '#api/groups/core/v1/validation/common.ts';
import { countIndexes } from './indexes.ts';
import type { JobSpec, SuccessPolicyRule } from './types.ts';

const MAX_RULES = 20;
const MAX_SUCCEEDED_INDEXES_LENGTH = 64 * 1024;

export function successPolicy(spec: JobSpec, at: FieldPath): FieldErrorList {
  const rules = spec.successPolicy?.rules ?? [];
  const rulesPath = at.child('rules');
  const errors: FieldErrorList = [];
  if (rules.length === 0) {
    errors.push(
      field.required(
        rulesPath,
        'at least one rules must be specified when the successPolicy is specified',
      ),
    );
  }
  if (rules.length > MAX_RULES) errors.push(field.tooMany(rulesPath, rules.length, MAX_RULES));
  rules.forEach((rule, index) =>
    errors.push(...successRule(rule, spec.completions, rulesPath.index(index))),
  );
  return errors;
}

/** Validates a rule. `completions`: undefined if missing, which is a separate error. */
function successRule(
  rule: SuccessPolicyRule,
  completions: number | undefined,
  at: FieldPath,
): FieldErrorList {
  const { succeededCount, succeededIndexes } = rule;
  const errors: FieldErrorList = [];
  if (succeededCount === undefined && succeededIndexes === undefined) {
    errors.push(
      field.required(at, 'at least one of succeededCount or succeededIndexes must be specified'),
    );
  }
  let total = 0;
  if (succeededIndexes !== undefined) {
    const path = at.child('succeededIndexes');
    if (succeededIndexes.length > MAX_SUCCEEDED_INDEXES_LENGTH) {
      errors.push(field.tooLong(path, '', MAX_SUCCEEDED_INDEXES_LENGTH));
    }
    const count = countIndexes(succeededIndexes, completions ?? Number.POSITIVE_INFINITY);
    if (typeof count === 'number') total = count;
    else
      errors.push(
        field.invalid(path, succeededIndexes, `error parsing succeededIndexes: ${count}`),
      );
  }
  if (succeededCount !== undefined) {
    const path = at.child('succeededCount');
    const tooMany = (limit: number, what: string): void => {
      if (succeededCount <= limit) return;
      errors.push(
        field.invalid(
          path,
          succeededCount,
          `must be less than or equal to ${limit} (the number of ${what})`,
        ),
      );
    };
    errors.push(...nonNegative(succeededCount, path));
    if (completions !== undefined) tooMany(completions, 'specified completions');
    if (succeededIndexes !== undefined)
      tooMany(total, 'indexes in the specified succeededIndexes field');
  }
  return errors;
}
