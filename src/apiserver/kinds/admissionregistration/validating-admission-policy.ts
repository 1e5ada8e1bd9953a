// The resource validatingadmissionpolicies.

import { validatingAdmissionPolicies } from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import {
  validateValidatingAdmissionPolicy,
  validateValidatingAdmissionPolicyStatus,
} from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { validatingPolicyTable } from '#apiserver/printers/admission.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type ValidatingAdmissionPolicy = Immutable<admission.ValidatingAdmissionPolicy>;

export const validatingAdmissionPolicyStrategy: ResourceStrategy<ValidatingAdmissionPolicy> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (policy) => ({ ...policy, status: {} }),
  validate: (policy) => validateValidatingAdmissionPolicy(policy),
  prepareForUpdate: (policy, old) => ({ ...policy, status: old.status }),
  validateUpdate: (policy, old) => validateValidatingAdmissionPolicy(policy, old),
};

export const validatingAdmissionPolicyStatusStrategy: SubresourceStrategy<ValidatingAdmissionPolicy> = {
  allowUnconditionalUpdate: false,
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (policy, old) => ({ ...withMetadataForStatus(policy, old), spec: old.spec }),
  validateUpdate: (policy) => validateValidatingAdmissionPolicyStatus(policy),
};

export function validatingAdmissionPolicyResource(services: RegistryServices): Kind {
  const store = new ResourceStore<ValidatingAdmissionPolicy>({
    ...services,
    type: validatingAdmissionPolicies,
    strategy: validatingAdmissionPolicyStrategy,
  });
  const kind = { group: 'admissionregistration.k8s.io', version: 'v1', kind: 'ValidatingAdmissionPolicy' };
  return {
    type: validatingAdmissionPolicies,
    rest: store,
    table: validatingPolicyTable,
    subresources: [{ name: 'status', kind, rest: store.view(validatingAdmissionPolicyStatusStrategy) }],
  };
}
