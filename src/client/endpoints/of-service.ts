// The endpoints of a service for a client without a node: no traffic policy, no hints, any address
// family.

import type { Service, ServicePort } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { IpFamily } from '#machinery/net/ip.ts';
import { type Endpoint, portKey, protocolOf } from './endpoint.ts';
import { endpointsOf, type EndpointsOptions } from './from-slices.ts';

const FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];

/**
 * Returns the endpoints for a port of the service, for each family with endpoints. The service's
 * first family comes first. Callers choose among them by `ready` or by `usableEndpoints`.
 *
 * @param slices those of this service
 * @param options as for endpointsOf
 */
export function endpointsOfPort(
  { spec }: Immutable<Service>,
  slices: readonly Immutable<EndpointSlice>[],
  { name = '', protocol: text }: Pick<Immutable<ServicePort>, 'name' | 'protocol'>,
  options: EndpointsOptions = {},
): readonly (readonly Endpoint[])[] {
  const protocol = protocolOf(text);
  if (protocol === undefined) return [];
  const key = portKey(name, protocol);
  const primary = spec.ipFamilies?.[0];
  return [...FAMILIES]
    .sort((a, b) => Number(b === primary) - Number(a === primary))
    .map((family) => endpointsOf(slices, family, options).get(key) ?? [])
    .filter((endpoints) => endpoints.length > 0);
}
