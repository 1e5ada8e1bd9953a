// The endpoints of a service's port from its Endpoints object: for services whose slices no
// controller mirrors, and for the API's own proxy.

import type { Endpoints } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatIp, parseIp } from '#machinery/net/ip.ts';
import { type Endpoint, MAX_ENDPOINTS } from './endpoint.ts';

/**
 * Returns the ready endpoints for a named port ('' for a port without a name). Addresses of the own
 * machine or link are included: callers must check them unless an administrator has chosen the
 * service.
 */
export function endpointsOfObject(
  endpoints: Immutable<Endpoints> | undefined,
  portName: string,
): readonly Endpoint[] {
  const endpointList: Endpoint[] = [];
  for (const { addresses = [], ports = [] } of endpoints?.subsets ?? []) {
    for (const { name = '', port } of ports) {
      if (name !== portName) continue;
      for (const { ip: text, targetRef, nodeName = '' } of addresses) {
        const address = parseIp(text);
        if (address === undefined || endpointList.length >= MAX_ENDPOINTS) continue;
        const state = {
          local: false,
          ready: true,
          serving: true,
          terminating: false,
          zones: [],
          nodes: [],
        };
        endpointList.push({ ip: formatIp(address), port, nodeName, ...state, targetRef });
      }
    }
  }
  return endpointList;
}
