// Validation of pod disruption budgets. Messages and paths are upstream's
// (pkg/apis/policy/validation).

import {
  notMoreThan100Percent,
  positiveIntOrPercent,
} from '#api/groups/apps/v1/validation/common.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import { nonNegative, optionalOneOf } from '#api/groups/core/v1/validation/common.ts';
import { validateConditions } from '#api/machinery/meta/v1/conditions.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as policy from './types.ts';

type PodDisruptionBudget = Immutable<policy.PodDisruptionBudget>;

/**
 * Validates a budget. `old`: absent on create. Impossible label values in its selector may stay.
 */
export function validatePodDisruptionBudget(
  { spec }: PodDisruptionBudget,
  old?: PodDisruptionBudget,
): FieldErrorList {
  const at = field.path('spec');
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = spec;
  const errors: FieldErrorList = [];
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    errors.push(field.invalid(at, spec, 'minAvailable and maxUnavailable cannot be both set'));
  }
  for (const [name, amount] of [
    ['minAvailable', minAvailable],
    ['maxUnavailable', maxUnavailable],
  ] as const) {
    if (amount === undefined) continue;
    errors.push(
      ...positiveIntOrPercent(amount, at.child(name)),
      ...notMoreThan100Percent(amount, at.child(name)),
    );
  }
  const hadOthers = old !== undefined && validateLabelSelector(old.spec.selector, at).length > 0;
  const options = { allowInvalidLabelValueInSelector: hadOthers };
  errors.push(...validateLabelSelector(selector, at.child('selector'), options));
  const policies = ['AlwaysAllow', 'IfHealthyBudget'];
  return [
    ...errors,
    ...optionalOneOf(unhealthyPodEvictionPolicy, policies, at.child('unhealthyPodEvictionPolicy')),
  ];
}

export function validatePodDisruptionBudgetStatus({ status }: PodDisruptionBudget): FieldErrorList {
  const at = field.path('status');
  return [
    ...validateConditions(status.conditions ?? [], at.child('conditions')),
    ...(
      ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const
    ).flatMap((name) => nonNegative(status[name], at.child(name))),
  ];
}
