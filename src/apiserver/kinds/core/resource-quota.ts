// The resource resourcequotas.

import type * as core from '#api/groups/core/v1/index.ts';
import { resourceQuotas } from '#api/groups/core/v1/index.ts';
import {
  validateResourceQuota,
  validateResourceQuotaStatus,
  validateResourceQuotaUpdate,
} from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { resourceQuotaTable } from '#apiserver/printers/quota.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type ResourceQuota = Immutable<core.ResourceQuota>;

export const resourceQuotaStrategy: ResourceStrategy<ResourceQuota> = {
  returnDeletedObject: true,
  prepareForCreate: (quota) => ({ ...quota, status: {} }),
  validate: (quota) => validateResourceQuota(quota),
  prepareForUpdate: (quota, old) => ({ ...quota, status: old.status }),
  validateUpdate: (quota, old) => validateResourceQuotaUpdate(quota, old),
};

export const resourceQuotaStatusStrategy: SubresourceStrategy<ResourceQuota> = {
  prepareForUpdate: (quota, old) => ({ ...quota, spec: old.spec }),
  validateUpdate: (quota) => validateResourceQuotaStatus(quota),
};

export function resourceQuotaResource(services: RegistryServices): Kind {
  const store = new ResourceStore<ResourceQuota>({ ...services, type: resourceQuotas, strategy: resourceQuotaStrategy });
  return {
    type: resourceQuotas,
    rest: store,
    table: resourceQuotaTable,
    subresources: [
      {
        name: 'status',
        kind: { group: '', version: 'v1', kind: 'ResourceQuota' },
        rest: store.view(resourceQuotaStatusStrategy),
      },
    ],
  };
}
