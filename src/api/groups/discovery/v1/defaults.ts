// Defaults of the discovery group, as Kubernetes documents them. A defaulter may modify its object,
// which was just decoded.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { EndpointSlice } from './types.ts';

function setEndpointSliceDefaults({ ports }: EndpointSlice): void {
  for (const port of ports ?? []) {
    port.name ??= '';
    port.protocol ??= 'TCP';
  }
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  EndpointSlice: setEndpointSliceDefaults,
};
