// The resource servicecidrs.

import { serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import { validateServiceCIDR, validateServiceCIDRUpdate } from '#api/groups/networking/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { serviceCidrTable } from '#apiserver/printers/networking.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type ServiceCIDR = Immutable<networking.ServiceCIDR>;

export const serviceCidrStrategy: ResourceStrategy<ServiceCIDR> = {
  prepareForCreate: (range) => ({ ...range, status: {} }),
  prepareForUpdate: (range, old) => ({ ...range, status: old.status }),
  validate: (range) => validateServiceCIDR(range),
  validateUpdate: (range, old) => validateServiceCIDRUpdate(range, old),
};

export const serviceCidrStatusStrategy: SubresourceStrategy<ServiceCIDR> = {
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (range, old) => ({ ...withMetadataForStatus(range, old), spec: old.spec }),
  validateUpdate: () => [],
};

export function serviceCidrResource(services: RegistryServices): Kind {
  const store = new ResourceStore<ServiceCIDR>({ ...services, type: serviceCIDRs, strategy: serviceCidrStrategy });
  const kind = { group: 'networking.k8s.io', version: 'v1', kind: 'ServiceCIDR' };
  return {
    type: serviceCIDRs,
    rest: store,
    table: serviceCidrTable,
    subresources: [{ name: 'status', kind, rest: store.view(serviceCidrStatusStrategy) }],
  };
}
