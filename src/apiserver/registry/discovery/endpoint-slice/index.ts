// The resource endpointslices.

import { endpointSlices } from '../../../../api/discovery/v1/index.ts';
import type * as discovery from '../../../../api/discovery/v1/index.ts';
import { validateEndpointSlice, validateEndpointSliceUpdate } from '../../../../api/discovery/v1/validation.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { semanticEqual } from '../../../../machinery/deep.ts';
import { endpointSliceTable } from '../../../printers/endpoints.ts';
import { desiredStateChanged } from '../../metadata.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type EndpointSlice = Immutable<discovery.EndpointSlice>;

export const endpointSliceStrategy: ResourceStrategy<EndpointSlice> = {
  // Labels say whose endpoints these are.
  generation: (slice, old) => desiredStateChanged(slice, old) || !semanticEqual(slice.metadata.labels, old.metadata.labels),
  validate: (slice) => validateEndpointSlice(slice),
  validateUpdate: (slice, old) => validateEndpointSliceUpdate(slice, old),
};

export function endpointSliceResource(services: RegistryServices): ServedResource {
  return {
    type: endpointSlices,
    rest: new ResourceStore<EndpointSlice>({ ...services, type: endpointSlices, strategy: endpointSliceStrategy }),
    table: endpointSliceTable,
  };
}
