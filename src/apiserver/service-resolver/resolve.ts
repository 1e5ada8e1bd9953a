// Finds an address for a service: one of its ready endpoints, chosen at random. The server connects
// to endpoints itself, so that calls work without a service proxy, in any network.

import type * as core from '#api/groups/core/v1/index.ts';
import type * as discovery from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type Endpoint,
  endpointsOfObject,
  endpointsOfPort,
  SERVICE_NAME_LABEL,
} from '#client/endpoints/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Random } from '#machinery/random.ts';
import type { Find, FindAll } from '../catalog/internal-client.ts';

type Service = Immutable<core.Service>;
type Slice = Immutable<discovery.EndpointSlice>;

export interface ResolverServices {
  readonly find: Find;
  readonly findAll: FindAll;
  /** Chooses among the endpoints. */
  readonly random: Random;
}

/**
 * The address to connect to. `host` is an IP address, or a name for a service of type ExternalName.
 */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Returns the address of one endpoint for a port of the service. The endpoint may be anything, so
 * only callers whose target an administrator has chosen may use this. Throws StatusError: NotFound
 * if the service does not exist, ServiceUnavailable if it has no such port or no ready endpoints.
 * Throws Error for a service that cannot be reached in this way.
 */
export async function resolveService(
  services: ResolverServices,
  namespace: string,
  name: string,
  port: number,
): Promise<ServiceAddress> {
  const service = await services.find<Service>('', 'services', namespace, name);
  if (service === undefined) throw apierrors.notFound({ group: '', resource: 'service' }, name);
  const { type = 'ClusterIP', externalName = '' } = service.spec;
  if (type === 'ExternalName') return { host: externalName, port };
  const endpoint = (await readyEndpoints(services, service, servicePort(service, port)))[0];
  if (endpoint === undefined) throw noEndpoints(name);
  return { host: endpoint.ip, port: endpoint.port };
}

/** Returns the service's port with a number. Throws StatusError (503) if it has none. */
export function servicePort(
  { metadata, spec }: Service,
  port: number,
): Immutable<core.ServicePort> {
  const match = spec.ports?.find((candidate) => candidate.port === port);
  if (match !== undefined) return match;
  throw apierrors.serviceUnavailable(
    `no service port ${port} found for service ${JSON.stringify(metadata.name)}`,
  );
}

/** Returns the error for a service without a usable endpoint. */
export function noEndpoints(name: string): apierrors.StatusError {
  return apierrors.serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
}

/**
 * Returns the ready endpoints for a port of a service, in random order, with those of the service's
 * first address family first. Reads EndpointSlices, or the Endpoints object if the service has no
 * slice. Terminating endpoints are never used, as upstream.
 */
async function readyEndpoints(
  { find, findAll, random }: ResolverServices,
  service: Service,
  port: Immutable<core.ServicePort>,
): Promise<readonly Endpoint[]> {
  const { name, namespace = '' } = service.metadata;
  const slices = (await findAll<Slice>('discovery.k8s.io', 'endpointslices', namespace)).filter(
    (slice) => slice.metadata.labels?.[SERVICE_NAME_LABEL] === name,
  );
  if (slices.length === 0) return readyInObject({ find, random }, namespace, name, port.name ?? '');
  const families = endpointsOfPort(service, slices, port, { anyAddress: true });
  return families.flatMap((endpoints) =>
    rotated(
      endpoints.filter(({ ready }) => ready),
      random,
    ),
  );
}

/**
 * Returns the ready addresses in the Endpoints object of a service for a named port, in random
 * order. '': a port without a name.
 */
export async function readyInObject(
  { find, random }: Pick<ResolverServices, 'find' | 'random'>,
  namespace: string,
  name: string,
  portName: string,
): Promise<readonly Endpoint[]> {
  const object = await find<Immutable<core.Endpoints>>('', 'endpoints', namespace, name);
  return rotated(endpointsOfObject(object, portName), random);
}

/** Returns the items rotated by a random number. */
function rotated<T>(items: readonly T[], random: Random): readonly T[] {
  if (items.length < 2) return items;
  const start = random.int(items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}
