// The resource mutatingadmissionpolicies.

import { mutatingAdmissionPolicies } from '../../../../api/admissionregistration/v1/index.ts';
import type * as admission from '../../../../api/admissionregistration/v1/index.ts';
import { validateMutatingAdmissionPolicy } from '../../../../api/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { mutatingPolicyTable } from '../../../printers/admission.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type MutatingAdmissionPolicy = Immutable<admission.MutatingAdmissionPolicy>;

export const mutatingAdmissionPolicyStrategy: ResourceStrategy<MutatingAdmissionPolicy> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (policy) => validateMutatingAdmissionPolicy(policy),
  validateUpdate: (policy, old) => validateMutatingAdmissionPolicy(policy, old),
};

export function mutatingAdmissionPolicyResource(services: RegistryServices): ServedResource {
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
