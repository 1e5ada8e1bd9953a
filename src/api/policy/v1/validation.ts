// Rules of pod disruption budgets. Messages and paths are Kubernetes' own (pkg/apis/policy/validation).

import { notMoreThan100Percent, positiveIntOrPercent } from '../../apps/v1/validation/common.ts';
import * as field from '../../../machinery/field.ts';
import type { FieldErrorList } from '../../../machinery/field.ts';
import { validateLabelSelector } from '../../../machinery/labels.ts';
import { nonNegative, optionalOneOf } from '../../core/v1/validation/common.ts';
import type { Immutable } from '../../meta/v1/index.ts';
import type * as policy from './types.ts';

type PodDisruptionBudget = Immutable<policy.PodDisruptionBudget>;

export function validatePodDisruptionBudget({ spec }: PodDisruptionBudget): FieldErrorList {
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
    errors.push(...positiveIntOrPercent(amount, at.child(name)), ...notMoreThan100Percent(amount, at.child(name)));
  }
  errors.push(...validateLabelSelector(selector, at.child('selector')));
  const policies = ['AlwaysAllow', 'IfHealthyBudget'];
  return [...errors, ...optionalOneOf(unhealthyPodEvictionPolicy, policies, at.child('unhealthyPodEvictionPolicy'))];
}

export function validatePodDisruptionBudgetStatus({ status }: PodDisruptionBudget): FieldErrorList {
  const at = field.path('status');
  return (['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const).flatMap((name) =>
    nonNegative(status[name], at.child(name)),
  );
}
