// The resource endpoints. Deprecated: endpoint slices say the same and more.

import { endpoints } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { warningsForIP } from '#api/groups/core/v1/ip-warnings.ts';
import { validateEndpoints, validateEndpointsUpdate } from '#api/groups/core/v1/validation/endpoints.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import { endpointsTable } from '#apiserver/printers/endpoints.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type Endpoints = Immutable<core.Endpoints>;

/** What the controller of endpoints writes is right. */
function warnings({ metadata, subsets = [] }: Endpoints): string[] {
  if (metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller') return [];
  return subsets.flatMap((subset, index) =>
    (['addresses', 'notReadyAddresses'] as const).flatMap((name) =>
      (subset[name] ?? []).flatMap(({ ip }, i) =>
        warningsForIP(field.path('subsets').index(index).child(name).index(i).child('ip'), ip),
      ),
    ),
  );
}

export const endpointsStrategy: ResourceStrategy<Endpoints> = {
  checksNameOnUpdate: true,
  allowCreateOnUpdate: true,
  validate: (object) => validateEndpoints(object),
  validateUpdate: (object, old) => validateEndpointsUpdate(object, old),
  warningsOnCreate: (object) => warnings(object),
  warningsOnUpdate: (object) => warnings(object),
};

export function endpointsResource(services: RegistryServices): Kind {
  return {
    type: endpoints,
    rest: new ResourceStore<Endpoints>({ ...services, type: endpoints, strategy: endpointsStrategy }),
    listKind: 'EndpointsList',
    table: endpointsTable,
    deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  };
}
