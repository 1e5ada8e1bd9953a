// The resource mutatingadmissionpolicybindings.

import { mutatingAdmissionPolicyBindings } from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import { validateMutatingAdmissionPolicyBinding } from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { policyBindingTable } from '#apiserver/printers/admission.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type MutatingAdmissionPolicyBinding = Immutable<admission.MutatingAdmissionPolicyBinding>;

export const mutatingAdmissionPolicyBindingStrategy: ResourceStrategy<MutatingAdmissionPolicyBinding> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (binding) => validateMutatingAdmissionPolicyBinding(binding),
  validateUpdate: (binding) => validateMutatingAdmissionPolicyBinding(binding),
};

export function mutatingAdmissionPolicyBindingResource(services: RegistryServices): Kind {
  return {
    type: mutatingAdmissionPolicyBindings,
    rest: new ResourceStore<MutatingAdmissionPolicyBinding>({
      ...services,
      type: mutatingAdmissionPolicyBindings,
      strategy: mutatingAdmissionPolicyBindingStrategy,
    }),
    table: policyBindingTable,
  };
}
