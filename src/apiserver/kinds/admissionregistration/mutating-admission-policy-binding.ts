// The resource mutatingadmissionpolicybindings.

import { mutatingAdmissionPolicyBindings } from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import { validateMutatingAdmissionPolicyBinding } from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { policyBindingTable } from './tables.ts';

type MutatingAdmissionPolicyBinding = Immutable<admission.MutatingAdmissionPolicyBinding>;

const mutatingAdmissionPolicyBindingStrategy: ResourceStrategy<MutatingAdmissionPolicyBinding> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (binding) => validateMutatingAdmissionPolicyBinding(binding),
  validateUpdate: (binding) => validateMutatingAdmissionPolicyBinding(binding),
};

export const mutatingAdmissionPolicyBindingKind = defineKind<MutatingAdmissionPolicyBinding>({
  type: mutatingAdmissionPolicyBindings,
  strategy: mutatingAdmissionPolicyBindingStrategy,
  table: policyBindingTable,
});
