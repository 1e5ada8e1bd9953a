// The resource validatingadmissionpolicybindings.

import { validatingAdmissionPolicyBindings } from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import { validateValidatingAdmissionPolicyBinding } from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { policyBindingTable } from './tables.ts';

type ValidatingAdmissionPolicyBinding = Immutable<admission.ValidatingAdmissionPolicyBinding>;

const validatingAdmissionPolicyBindingStrategy: ResourceStrategy<ValidatingAdmissionPolicyBinding> =
  {
    anyFinalizer: true,
    checksNameOnUpdate: true,
    generation: true,
    allowUnconditionalUpdate: false,
    validate: (binding) => validateValidatingAdmissionPolicyBinding(binding),
    validateUpdate: (binding) => validateValidatingAdmissionPolicyBinding(binding),
  };

export const validatingAdmissionPolicyBindingKind = defineKind<ValidatingAdmissionPolicyBinding>({
  type: validatingAdmissionPolicyBindings,
  strategy: validatingAdmissionPolicyBindingStrategy,
  table: policyBindingTable,
});
