// Finds an address behind a service: one of its ready endpoints, chosen at random. The server connects to endpoints itself, so that
// calls work without a service proxy, whatever network the cluster IPs are in.

import type * as core from '#api/groups/core/v1/index.ts';
import type * as discovery from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Random } from '#machinery/random.ts';
import type { Find, FindAll } from '../catalog/internal-client.ts';

type Service = Immutable<core.Service>;
type Slice = Immutable<discovery.EndpointSlice>;

/** The label that names the service of an EndpointSlice. */
const SERVICE_NAME = 'kubernetes.io/service-name';

export interface ResolverServices {
  readonly find: Find;
  readonly findAll: FindAll;
  /** Chooses among the endpoints. */
  readonly random: Random;
}

/** Where to connect to. `host` is an IP address, or for a service of type ExternalName a name. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/** One address of a service that is ready to serve. */
export interface ServiceEndpoint {
  readonly ip: string;
  readonly port: number;
  readonly targetRef: Immutable<core.ObjectReference> | undefined;
}

/**
 * Returns the address of one endpoint for a port of the service. Any endpoint will do, whatever it belongs to: only callers whose target
 * an administrator has chosen may use this. Throws StatusError: NotFound without such a service, ServiceUnavailable without such a port
 * or without ready endpoints; Error for a service that cannot be reached in this way.
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
  const portName = servicePort(service, port).name ?? '';
  const endpoint = (await readyEndpoints(services, service, portName))[0];
  if (endpoint === undefined) throw noEndpoints(name);
  return { host: endpoint.ip, port: endpoint.port };
}

/** Returns the service's port with a number. Throws StatusError (503) if it has none. */
export function servicePort({ metadata, spec }: Service, port: number): Immutable<core.ServicePort> {
  const found = spec.ports?.find((candidate) => candidate.port === port);
  if (found !== undefined) return found;
  throw apierrors.serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(metadata.name)}`);
}

/** Returns the error for a service without an endpoint that could serve. */
export function noEndpoints(name: string): apierrors.StatusError {
  return apierrors.serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
}

/**
 * Returns the ready endpoints for a named port of a service ('' for a port without a name), in random order; those of the service's first
 * address family come first. Reads EndpointSlices, or the Endpoints object if no slice belongs to the service.
 */
export async function readyEndpoints(
  { find, findAll, random }: ResolverServices,
  { metadata, spec }: Service,
  portName: string,
): Promise<readonly ServiceEndpoint[]> {
  const { name, namespace = '' } = metadata;
  const slices = (await findAll<Slice>('discovery.k8s.io', 'endpointslices', namespace)).filter(
    (slice) => slice.metadata.labels?.[SERVICE_NAME] === name,
  );
  if (slices.length === 0) return endpointsOf({ find, random }, namespace, name, portName);
  const primary = spec.ipFamilies?.[0];
  const first = slices.filter(({ addressType }) => primary === undefined || addressType === primary);
  const others = slices.filter((slice) => !first.includes(slice));
  return [first, others].flatMap((some) =>
    rotated(
      some.flatMap((slice) => ofSlice(slice, portName)),
      random,
    ),
  );
}

/** Returns the ready addresses in the Endpoints object of a service, for a named port ('' for a port without a name), in random order. */
export async function endpointsOf(
  { find, random }: Pick<ResolverServices, 'find' | 'random'>,
  namespace: string,
  name: string,
  portName: string,
): Promise<readonly ServiceEndpoint[]> {
  return rotated(ofEndpoints(await find<Immutable<core.Endpoints>>('', 'endpoints', namespace, name), portName), random);
}

function ofSlice({ addressType, ports, endpoints }: Slice, portName: string): ServiceEndpoint[] {
  // Addresses of type FQDN are names, which nothing resolves for a service.
  if (addressType === 'FQDN') return [];
  const numbers = (ports ?? []).flatMap(({ name = '', port }) => (name === portName && port !== undefined ? [port] : []));
  return numbers.flatMap((port) =>
    (endpoints ?? []).flatMap(({ addresses, conditions, targetRef }) => {
      // Only the first address of an endpoint counts.
      const ip = addresses[0];
      return ip === undefined || conditions?.ready === false ? [] : [{ ip, port, targetRef }];
    }),
  );
}

function ofEndpoints(endpoints: Immutable<core.Endpoints> | undefined, portName: string): ServiceEndpoint[] {
  return (endpoints?.subsets ?? []).flatMap(({ addresses = [], ports = [] }) =>
    ports
      .filter(({ name = '' }) => name === portName)
      .flatMap(({ port }) => addresses.map(({ ip, targetRef }) => ({ ip, port, targetRef }))),
  );
}

/** Returns the items from a random one on, and then those before it. */
function rotated<T>(items: readonly T[], random: Random): readonly T[] {
  if (items.length < 2) return items;
  const start = random.int(items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}
