// The resource poddisruptionbudgets.

import { podDisruptionBudgets } from '#api/groups/policy/v1/index.ts';
import type * as policy from '#api/groups/policy/v1/index.ts';
import {
  validatePodDisruptionBudget,
  validatePodDisruptionBudgetStatus,
} from '#api/groups/policy/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

export type PodDisruptionBudget = Immutable<policy.PodDisruptionBudget>;

const NO_STATUS: PodDisruptionBudget['status'] = {
  disruptionsAllowed: 0,
  currentHealthy: 0,
  desiredHealthy: 0,
  expectedPods: 0,
};

const podDisruptionBudgetStrategy: ResourceStrategy<PodDisruptionBudget> = {
  anyFinalizer: true,
  validateName: pathSegmentName,
  generation: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (budget) => ({ ...budget, status: NO_STATUS }),
  validate: (budget) => validatePodDisruptionBudget(budget),
  prepareForUpdate: (budget, old) => ({ ...budget, status: old.status }),
  validateUpdate: (budget, old) => validatePodDisruptionBudget(budget, old),
};

const podDisruptionBudgetStatusStrategy: SubresourceStrategy<PodDisruptionBudget> = {
  prepareForUpdate: (budget, old) => ({ ...budget, spec: old.spec }),
  validateUpdate: (budget) => validatePodDisruptionBudgetStatus(budget),
};

const podDisruptionBudgetTable: TableConvertor<PodDisruptionBudget> = {
  columns: [
    NAME,
    column('Min Available', 'Minimum number of available pods.'),
    column('Max Unavailable', 'Maximum number of unavailable pods.'),
    column('Allowed Disruptions', 'Number of pods that may be evicted now.', { type: 'integer' }),
    AGE,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    String(spec.minAvailable ?? 'N/A'),
    String(spec.maxUnavailable ?? 'N/A'),
    status.disruptionsAllowed,
    since(metadata.creationTimestamp, now),
  ],
};

export const podDisruptionBudgetKind = defineKind<PodDisruptionBudget>({
  type: podDisruptionBudgets,
  strategy: podDisruptionBudgetStrategy,
  table: podDisruptionBudgetTable,
  subresources: { status: { strategy: podDisruptionBudgetStatusStrategy } },
});
