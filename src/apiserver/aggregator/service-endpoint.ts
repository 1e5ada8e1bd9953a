// Which address the requests to a service go to: a ready endpoint of its port, chosen at random, or the name of an external service.

import type * as core from '#api/groups/core/v1/index.ts';
import type * as discovery from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Random } from '#machinery/random.ts';
import type { Peer } from './network-errors.ts';

type Service = Immutable<core.Service>;
type EndpointSlice = Immutable<discovery.EndpointSlice>;

/** The service cannot be reached now. The message is upstream's. */
export class NoEndpointError extends Error {
  override readonly name = 'NoEndpointError';
}

/** Chooses an endpoint. `slices`: those of the service. Throws NoEndpointError. */
export function chooseEndpoint(service: Service, slices: readonly EndpointSlice[], port: number, random: Random): Peer {
  const { name } = service.metadata;
  const { type = 'ClusterIP', ports = [], externalName = '', ipFamilies = [] } = service.spec;
  if (type === 'ExternalName') return { host: externalName, port };
  const servicePort = ports.find((candidate) => candidate.port === port);
  if (servicePort === undefined) throw new NoEndpointError(`no service port ${port} found for service ${quote(name)}`);
  const [family] = ipFamilies;
  const inFamily = (slice: EndpointSlice): boolean => family === undefined || slice.addressType === family;
  // The primary family first; within a family all slices have the same chance.
  for (const candidates of [slices.filter(inFamily), slices.filter((slice) => !inFamily(slice))]) {
    const endpoints = candidates.flatMap((slice) => readyEndpoints(slice, servicePort.name ?? ''));
    if (endpoints.length > 0) return endpoints[random.int(endpoints.length)] as Peer;
  }
  throw new NoEndpointError(`no endpoints available for service ${quote(name)}`);
}

/** Returns the ready endpoints of a slice for a port of that name. */
export function readyEndpoints({ endpoints, ports }: EndpointSlice, portName: string): readonly Peer[] {
  return (ports ?? []).flatMap(({ name = '', port }) =>
    name !== portName || port === undefined
      ? []
      : (endpoints ?? []).flatMap(({ addresses: [host], conditions }) =>
          host === undefined || conditions?.ready === false ? [] : [{ host, port }],
        ),
  );
}
