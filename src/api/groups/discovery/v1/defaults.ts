// Defaults of the discovery group, as Kubernetes documents them. A defaulter may change the object it is given: it is a fresh
// draft, straight from the decoder.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { EndpointSlice } from './types.ts';

function setEndpointSliceDefaults({ ports }: EndpointSlice): void {
  for (const port of ports ?? []) {
    port.name ??= '';
    port.protocol ??= 'TCP';
  }
}

/** The defaulters of this group and version, by kind. Kinds without defaults have none. */
export const defaulters: Defaulters = {
  EndpointSlice: setEndpointSliceDefaults,
};
