// The resource validatingadmissionpolicybindings.

import { validatingAdmissionPolicyBindings } from '../../../../api/admissionregistration/v1/index.ts';
import type * as admission from '../../../../api/admissionregistration/v1/index.ts';
import { validateValidatingAdmissionPolicyBinding } from '../../../../api/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { policyBindingTable } from '../../../printers/admission.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type ValidatingAdmissionPolicyBinding = Immutable<admission.ValidatingAdmissionPolicyBinding>;

export const validatingAdmissionPolicyBindingStrategy: ResourceStrategy<ValidatingAdmissionPolicyBinding> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (binding) => validateValidatingAdmissionPolicyBinding(binding),
  validateUpdate: (binding) => validateValidatingAdmissionPolicyBinding(binding),
};

export function validatingAdmissionPolicyBindingResource(services: RegistryServices): ServedResource {
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
