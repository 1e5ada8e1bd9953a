// The resource mutatingadmissionpolicies.

import { mutatingAdmissionPolicies } from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import { validateMutatingAdmissionPolicy } from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { mutatingPolicyTable } from './tables.ts';

type MutatingAdmissionPolicy = Immutable<admission.MutatingAdmissionPolicy>;

const mutatingAdmissionPolicyStrategy: ResourceStrategy<MutatingAdmissionPolicy> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (policy) => validateMutatingAdmissionPolicy(policy),
  validateUpdate: (policy, old) => validateMutatingAdmissionPolicy(policy, old),
};

export const mutatingAdmissionPolicyKind = defineKind<MutatingAdmissionPolicy>({
  type: mutatingAdmissionPolicies,
  strategy: mutatingAdmissionPolicyStrategy,
  table: mutatingPolicyTable,
});
