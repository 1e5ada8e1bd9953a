// Finds the address for a request to pods/proxy, services/proxy or nodes/proxy.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Endpoint } from '#client/endpoints/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { isGlobalUnicast } from '#machinery/net/ip.ts';
import type { Random } from '#machinery/random.ts';
import { isValidPortNum } from '#machinery/validation/validation.ts';
import type { NodeTarget } from '../node-connector.ts';
import { podOf } from '../node-proxy/pod-target.ts';
import type { Find } from '../catalog/internal-client.ts';
import { noEndpoints, readyInObject, servicePort } from '../service-resolver/resolve.ts';

export interface Location {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}

export interface Target {
  readonly scheme: 'http' | 'https';
  readonly name: string;
  /** The name or number of the port; '' if the request has none. */
  readonly port: string;
}

/**
 * Parses NAME, NAME:PORT or SCHEME:NAME:PORT, where the scheme and the port may be ''. Returns
 * undefined for any other text.
 */
export function splitTarget(id: string): Target | undefined {
  const parts = id.split(':');
  const [scheme, name = '', port = ''] = parts.length === 3 ? parts : ['', ...parts];
  if (parts.length > 3 || name === '' || (scheme !== '' && scheme !== 'http' && scheme !== 'https'))
    return undefined;
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port };
}

/**
 * Finds the address of a pod. Throws StatusError: 400 for an invalid target or a forbidden address,
 * 404 if the pod does not exist.
 */
export async function locatePod(find: Find, namespace: string, id: string): Promise<Location> {
  const target = splitTarget(id);
  if (target === undefined) throw apierrors.badRequest(`invalid pod request ${JSON.stringify(id)}`);
  const { spec, status } = await podOf(find, namespace, target.name);
  const first = spec.containers.flatMap(({ ports }) => ports ?? [])[0]?.containerPort;
  const host = checked(status.podIPs?.[0]?.ip ?? '');
  const { scheme, port } = target;
  if (port === '') return { scheme, host, port: first ?? (scheme === 'https' ? 443 : 80) };
  return { scheme, host, port: portNumber(port) };
}

/**
 * Returns the address of a port of a node. Throws StatusError (400) for an invalid port. The address
 * is checked when the connection is made, since it may be a host name.
 */
export function locateNodePort({ host }: NodeTarget, { scheme, port }: Target): Location {
  return { scheme, host, port: portNumber(port) };
}

function portNumber(port: string): number {
  if (isValidPortNum(Number(port)).length > 0)
    throw apierrors.badRequest(`invalid port ${JSON.stringify(port)}`);
  return Number(port);
}

/**
 * Finds an endpoint of the service. Throws StatusError: 400 and 404 like locatePod, 503 without
 * endpoints.
 */
export async function locateService(
  find: Find,
  random: Random,
  namespace: string,
  id: string,
): Promise<Location> {
  const target = splitTarget(id);
  if (target === undefined)
    throw apierrors.badRequest(`invalid service request ${JSON.stringify(id)}`);
  const { name, scheme } = target;
  const service = await find<Immutable<core.Service>>('', 'services', namespace, name);
  if (service === undefined) throw apierrors.notFound({ group: '', resource: 'services' }, name);
  // Ports of endpoints have the names of the service's ports. A number is a port of the service,
  // not of a pod.
  const portName = /^\d+$/.test(target.port)
    ? (servicePort(service, Number(target.port)).name ?? '')
    : target.port;
  // Only an endpoint that is a pod of the namespace with this address is used.
  for (const endpoint of await readyInObject({ find, random }, namespace, name, portName)) {
    if (await isOwn(find, namespace, endpoint))
      return { scheme, host: checked(endpoint.ip), port: endpoint.port };
  }
  throw noEndpoints(name);
}

/**
 * Reports whether the endpoint is a pod. Users may write endpoints by hand, but the server only
 * connects to pods.
 */
async function isOwn(find: Find, namespace: string, { ip, targetRef }: Endpoint): Promise<boolean> {
  if (targetRef?.kind !== 'Pod' || (targetRef.namespace ?? namespace) !== namespace) return false;
  const pod = await find<Immutable<core.Pod>>('', 'pods', namespace, targetRef.name ?? '');
  return pod?.status.podIPs?.some((address) => address.ip === ip) === true;
}

/**
 * Returns the address. Throws StatusError (400) for an address of the server's own machine or link,
 * in any spelling.
 */
function checked(ip: string): string {
  if (!isGlobalUnicast(ip)) throw apierrors.badRequest('address not allowed');
  return ip;
}
