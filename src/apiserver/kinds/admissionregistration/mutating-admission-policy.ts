// The resource mutatingadmissionpolicies.

import { mutatingAdmissionPolicies } from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import { validateMutatingAdmissionPolicy } from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { mutatingPolicyTable } from '#apiserver/printers/admission.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type MutatingAdmissionPolicy = Immutable<admission.MutatingAdmissionPolicy>;

export const mutatingAdmissionPolicyStrategy: ResourceStrategy<MutatingAdmissionPolicy> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (policy) => validateMutatingAdmissionPolicy(policy),
  validateUpdate: (policy, old) => validateMutatingAdmissionPolicy(policy, old),
};

export function mutatingAdmissionPolicyResource(services: RegistryServices): Kind {
  return {
    type: mutatingAdmissionPolicies,
    rest: new ResourceStore<MutatingAdmissionPolicy>({
      ...services,
      type: mutatingAdmissionPolicies,
      strategy: mutatingAdmissionPolicyStrategy,
    }),
    table: mutatingPolicyTable,
  };
}
