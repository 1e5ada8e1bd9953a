// The resource poddisruptionbudgets.

import { podDisruptionBudgets } from '#api/groups/policy/v1/index.ts';
import type * as policy from '#api/groups/policy/v1/index.ts';
import { validatePodDisruptionBudget, validatePodDisruptionBudgetStatus } from '#api/groups/policy/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { podDisruptionBudgetTable } from '#apiserver/printers/policy.ts';
import { pathSegmentName } from '#apiserver/registry/metadata-validation.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

export type PodDisruptionBudget = Immutable<policy.PodDisruptionBudget>;

const NO_STATUS: PodDisruptionBudget['status'] = {
  disruptionsAllowed: 0,
  currentHealthy: 0,
  desiredHealthy: 0,
  expectedPods: 0,
};

export const podDisruptionBudgetStrategy: ResourceStrategy<PodDisruptionBudget> = {
  anyFinalizer: true,
  validateName: pathSegmentName,
  generation: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (budget) => ({ ...budget, status: NO_STATUS }),
  validate: (budget) => validatePodDisruptionBudget(budget),
  prepareForUpdate: (budget, old) => ({ ...budget, status: old.status }),
  validateUpdate: (budget, old) => validatePodDisruptionBudget(budget, old),
};

export const podDisruptionBudgetStatusStrategy: SubresourceStrategy<PodDisruptionBudget> = {
  prepareForUpdate: (budget, old) => ({ ...budget, spec: old.spec }),
  validateUpdate: (budget) => validatePodDisruptionBudgetStatus(budget),
};

/** Evictions ask it, too. */
export function podDisruptionBudgetStore(services: RegistryServices): ResourceStore<PodDisruptionBudget> {
  return new ResourceStore<PodDisruptionBudget>({
    ...services,
    type: podDisruptionBudgets,
    strategy: podDisruptionBudgetStrategy,
  });
}

export function podDisruptionBudgetResource(store: ResourceStore<PodDisruptionBudget>): Kind {
  const kind = { group: 'policy', version: 'v1', kind: 'PodDisruptionBudget' };
  return {
    type: podDisruptionBudgets,
    rest: store,
    table: podDisruptionBudgetTable,
    subresources: [{ name: 'status', kind, rest: store.view(podDisruptionBudgetStatusStrategy) }],
  };
}
