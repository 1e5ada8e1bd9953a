// The resource endpointslices.

import { warningsForIP } from '#api/groups/core/v1/ip-warnings.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type * as discovery from '#api/groups/discovery/v1/index.ts';
import { validateEndpointSlice, validateEndpointSliceUpdate } from '#api/groups/discovery/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { endpointSliceTable } from '#apiserver/printers/endpoints.ts';
import { desiredStateChanged } from '#apiserver/registry/metadata.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type EndpointSlice = Immutable<discovery.EndpointSlice>;

/** Topology has fields of its own; what is stored already may stay until the endpoints change. */
function withoutTopology(slice: EndpointSlice, old?: EndpointSlice): EndpointSlice {
  const { endpoints } = slice;
  if (endpoints === null || !endpoints.some(({ deprecatedTopology }) => deprecatedTopology !== undefined)) return slice;
  if (old !== undefined && semanticEqual(endpoints, old.endpoints)) return slice;
  return { ...slice, endpoints: endpoints.map(({ deprecatedTopology: _dropped, ...endpoint }) => endpoint) };
}

const CONTROLLERS = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];

/** What the controllers of slices write is right. */
function warnings({ metadata, addressType, endpoints }: EndpointSlice): string[] {
  if (addressType === 'FQDN' || CONTROLLERS.includes(metadata.labels?.['endpointslice.kubernetes.io/managed-by'] ?? ''))
    return [];
  return (endpoints ?? []).flatMap(({ addresses }, index) => {
    const at = field.path('endpoints').index(index).child('addresses');
    return addresses.flatMap((address, i) => warningsForIP(at.index(i), address));
  });
}

export const endpointSliceStrategy: ResourceStrategy<EndpointSlice> = {
  checksNameOnUpdate: true,
  // Labels say whose endpoints these are.
  generation: (slice, old) => desiredStateChanged(slice, old) || !semanticEqual(slice.metadata.labels, old.metadata.labels),
  prepareForCreate: (slice) => withoutTopology(slice),
  prepareForUpdate: (slice, old) => withoutTopology(slice, old),
  warningsOnCreate: (slice) => warnings(slice),
  warningsOnUpdate: (slice) => warnings(slice),
  validate: (slice) => validateEndpointSlice(slice),
  validateUpdate: (slice, old) => validateEndpointSliceUpdate(slice, old),
};

export function endpointSliceResource(services: RegistryServices): Kind {
  return {
    type: endpointSlices,
    rest: new ResourceStore<EndpointSlice>({ ...services, type: endpointSlices, strategy: endpointSliceStrategy }),
    table: endpointSliceTable,
  };
}
