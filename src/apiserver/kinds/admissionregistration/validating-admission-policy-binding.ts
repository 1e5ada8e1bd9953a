// The resource validatingadmissionpolicybindings.

import { validatingAdmissionPolicyBindings } from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import { validateValidatingAdmissionPolicyBinding } from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { policyBindingTable } from '#apiserver/printers/admission.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type ValidatingAdmissionPolicyBinding = Immutable<admission.ValidatingAdmissionPolicyBinding>;

export const validatingAdmissionPolicyBindingStrategy: ResourceStrategy<ValidatingAdmissionPolicyBinding> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (binding) => validateValidatingAdmissionPolicyBinding(binding),
  validateUpdate: (binding) => validateValidatingAdmissionPolicyBinding(binding),
};

export function validatingAdmissionPolicyBindingResource(services: RegistryServices): Kind {
  return {
    type: validatingAdmissionPolicyBindings,
    rest: new ResourceStore<ValidatingAdmissionPolicyBinding>({
      ...services,
      type: validatingAdmissionPolicyBindings,
      strategy: validatingAdmissionPolicyBindingStrategy,
    }),
    table: policyBindingTable,
  };
}
