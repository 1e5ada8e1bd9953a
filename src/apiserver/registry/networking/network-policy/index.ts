// The resource networkpolicies.

import { networkPolicies } from '../../../../api/networking/v1/index.ts';
import type * as networking from '../../../../api/networking/v1/index.ts';
import { validateNetworkPolicy } from '../../../../api/networking/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { networkPolicyTable } from '../../../printers/networking.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type NetworkPolicy = Immutable<networking.NetworkPolicy>;

export const networkPolicyStrategy: ResourceStrategy<NetworkPolicy> = {
  generation: true,
  validate: (policy) => validateNetworkPolicy(policy),
  validateUpdate: (policy) => validateNetworkPolicy(policy),
};

export function networkPolicyResource(services: RegistryServices): ServedResource {
  return {
    type: networkPolicies,
    rest: new ResourceStore<NetworkPolicy>({ ...services, type: networkPolicies, strategy: networkPolicyStrategy }),
    table: networkPolicyTable,
  };
}
