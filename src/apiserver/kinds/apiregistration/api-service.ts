// The resource apiservices: which groups and versions there are, and who answers for each.

import { apiServices } from '#api/groups/apiregistration/v1/index.ts';
import type * as apiregistration from '#api/groups/apiregistration/v1/index.ts';
import { validateAPIService, validateAPIServiceStatus } from '#api/groups/apiregistration/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { apiServiceTable } from '#apiserver/printers/api-service.ts';
import { pathSegmentName } from '#apiserver/registry/metadata-validation.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { formatTime } from '#apiserver/registry/time.ts';

type APIService = Immutable<apiregistration.APIService>;
const KIND = { group: 'apiregistration.k8s.io', version: 'v1', kind: 'APIService' };

export const apiServiceStrategy: ResourceStrategy<APIService> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  allowUnconditionalUpdate: false,
  validateName: pathSegmentName,
  // What this server answers for itself is there at once.
  prepareForCreate: (service, { now }) => ({ ...service, status: service.spec.service === undefined ? local(now) : {} }),
  validate: (service) => validateAPIService(service),
  prepareForUpdate: (service, old) => ({ ...service, status: old.status }),
  validateUpdate: (service) => validateAPIService(service),
  warningsOnCreate: warnings,
  warningsOnUpdate: warnings,
};

/** A service is stored, but its group and version stay not found for clients. */
function warnings({ spec: { service } }: APIService): readonly string[] {
  return service === undefined
    ? []
    : ['requests are not forwarded to other API servers: the APIService is stored and has no effect'];
}

export const apiServiceStatusStrategy: SubresourceStrategy<APIService> = {
  allowUnconditionalUpdate: false,
  prepareForUpdate: (service, old) => ({ ...service, spec: old.spec }),
  validateUpdate: (service) => validateAPIServiceStatus(service),
};

function local(now: number): APIService['status'] {
  const condition = {
    type: 'Available',
    status: 'True',
    lastTransitionTime: formatTime(now),
    reason: 'Local',
    message: 'Local APIServices are always available',
  } as const;
  return { conditions: [condition] };
}

export function apiServiceResource(services: RegistryServices): Kind {
  const store = new ResourceStore<APIService>({ ...services, type: apiServices, strategy: apiServiceStrategy });
  return {
    type: apiServices,
    rest: store,
    table: apiServiceTable,
    subresources: [{ name: 'status', kind: KIND, rest: store.view(apiServiceStatusStrategy) }],
  };
}
