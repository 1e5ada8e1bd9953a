// The resource validatingadmissionpolicies.

import { validatingAdmissionPolicies } from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import {
  validateValidatingAdmissionPolicy,
  validateValidatingAdmissionPolicyStatus,
} from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { validatingPolicyTable } from './tables.ts';

type ValidatingAdmissionPolicy = Immutable<admission.ValidatingAdmissionPolicy>;

const validatingAdmissionPolicyStrategy: ResourceStrategy<ValidatingAdmissionPolicy> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (policy) => ({ ...policy, status: {} }),
  validate: (policy) => validateValidatingAdmissionPolicy(policy),
  prepareForUpdate: (policy, old) => ({ ...policy, status: old.status }),
  validateUpdate: (policy, old) => validateValidatingAdmissionPolicy(policy, old),
};

const validatingAdmissionPolicyStatusStrategy: SubresourceStrategy<ValidatingAdmissionPolicy> = {
  allowUnconditionalUpdate: false,
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (policy, old) => ({ ...withMetadataForStatus(policy, old), spec: old.spec }),
  validateUpdate: (policy) => validateValidatingAdmissionPolicyStatus(policy),
};

export const validatingAdmissionPolicyKind = defineKind<ValidatingAdmissionPolicy>({
  type: validatingAdmissionPolicies,
  strategy: validatingAdmissionPolicyStrategy,
  table: validatingPolicyTable,
  subresources: { status: { strategy: validatingAdmissionPolicyStatusStrategy } },
});
