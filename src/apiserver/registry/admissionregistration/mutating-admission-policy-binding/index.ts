// The resource mutatingadmissionpolicybindings.

import { mutatingAdmissionPolicyBindings } from '../../../../api/admissionregistration/v1/index.ts';
import type * as admission from '../../../../api/admissionregistration/v1/index.ts';
import { validateMutatingAdmissionPolicyBinding } from '../../../../api/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { policyBindingTable } from '../../../printers/admission.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type MutatingAdmissionPolicyBinding = Immutable<admission.MutatingAdmissionPolicyBinding>;

export const mutatingAdmissionPolicyBindingStrategy: ResourceStrategy<MutatingAdmissionPolicyBinding> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (binding) => validateMutatingAdmissionPolicyBinding(binding),
  validateUpdate: (binding) => validateMutatingAdmissionPolicyBinding(binding),
};

export function mutatingAdmissionPolicyBindingResource(services: RegistryServices): ServedResource {
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
