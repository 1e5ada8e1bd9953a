// The resource resourcequotas.

import type * as core from '../../../../api/core/v1/index.ts';
import { resourceQuotas } from '../../../../api/core/v1/index.ts';
import {
  validateResourceQuota,
  validateResourceQuotaStatus,
  validateResourceQuotaUpdate,
} from '../../../../api/core/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { resourceQuotaTable } from '../../../printers/quota.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../../strategy.ts';

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

export function resourceQuotaResource(services: RegistryServices): ServedResource {
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
