// Defaults of the discovery group, as Kubernetes documents them. A defaulter may change the object it is given: it is a fresh
// draft, straight from the decoder.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { EndpointSlice } from './types.ts';

export function setEndpointSliceDefaults({ ports }: EndpointSlice): void {
  for (const port of ports ?? []) {
    port.name ??= '';
    port.protocol ??= 'TCP';
  }
}

/** Of each kind that has any. */
export const defaulters: Defaulters = {
  EndpointSlice: setEndpointSliceDefaults,
};
