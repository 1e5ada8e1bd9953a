// Converts custom Endpoints into endpoints of slices.

import { isIP } from 'node:net';
import type { EndpointAddress, Endpoints, Service } from '#api/groups/core/v1/index.ts';
import type { Endpoint, EndpointPort } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { AddressType } from '../endpointslice/pod-endpoints.ts';
import { endpointKey, type PortGroup, portsKey } from '../endpointslice/plan.ts';
import { LAST_CHANGE, MANAGED_BY, SERVICE_NAME } from '../endpointslice/slice-metadata.ts';

type ReadEndpoints = Immutable<Endpoints>;

const SKIP = 'endpointslice.kubernetes.io/skip-mirror';
/** Marks Endpoints that were once used for leader election; they are not mirrored. */
const LEADER = 'control-plane.alpha.kubernetes.io/leader';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Reports whether the Endpoints are mirrored. Endpoints of a service with a selector are not: the
 * slices of that service are computed from its pods.
 */
export function isMirrored(
  object: ReadEndpoints | undefined,
  service: Immutable<Service> | undefined,
): boolean {
  if (object === undefined || service === undefined) return false;
  const { labels = {}, annotations = {}, deletionTimestamp } = object.metadata;
  if (
    labels[SKIP] === 'true' ||
    Object.hasOwn(annotations, LEADER) ||
    deletionTimestamp !== undefined
  )
    return false;
  return Object.keys(service.spec.selector ?? {}).length === 0;
}

export interface Mirrored {
  readonly groups: Readonly<Record<AddressType, readonly PortGroup[]>>;
  readonly invalid: number;
  /** The number of addresses beyond the maximum, invalid ones included. */
  readonly skipped: number;
}

export function mirroredGroups({ subsets = [] }: ReadEndpoints, maxPerSubset: number): Mirrored {
  const groups = { IPv4: new Map<string, Group>(), IPv6: new Map<string, Group>() };
  let invalid = 0;
  let skipped = 0;
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    const its = ports.map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
      name,
      protocol,
      port,
      ...(appProtocol !== undefined && { appProtocol }),
    }));
    let added = 0;
    for (const [address, ready] of [
      ...pairs(addresses, true),
      ...pairs(notReadyAddresses, false),
    ]) {
      if (added === maxPerSubset) break;
      const family = isIP(address.ip);
      if (family === 0) {
        invalid++;
        continue;
      }
      added++;
      const all = groups[family === 6 ? 'IPv6' : 'IPv4'];
      const group = all.get(portsKey(its)) ?? {
        ports: its,
        endpoints: new Map<string, Endpoint>(),
      };
      all.set(portsKey(its), group);
      const endpoint = endpointFrom(address, ready);
      const key = endpointKey(endpoint);
      if (!group.endpoints.has(key)) group.endpoints.set(key, endpoint);
    }
    skipped += addresses.length + notReadyAddresses.length - added;
  }
  const listed = (all: ReadonlyMap<string, Group>): PortGroup[] =>
    [...all.values()].map(({ ports, endpoints }) => ({
      ports,
      endpoints: [...endpoints.values()],
    }));
  return { groups: { IPv4: listed(groups.IPv4), IPv6: listed(groups.IPv6) }, invalid, skipped };
}

interface Group {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Map<string, Endpoint>;
}

function pairs(
  list: readonly Immutable<EndpointAddress>[],
  ready: boolean,
): (readonly [Immutable<EndpointAddress>, boolean])[] {
  return list.map((address) => [address, ready]);
}

function endpointFrom(
  { ip, hostname, nodeName, targetRef }: Immutable<EndpointAddress>,
  ready: boolean,
): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname !== undefined && hostname !== '' && { hostname }),
    ...(targetRef !== undefined && { targetRef }),
    ...(nodeName !== undefined && { nodeName }),
  };
}

export function mirroredLabels(
  { metadata }: ReadEndpoints,
  managedBy: string,
): Record<string, string> {
  return { ...metadata.labels, [SERVICE_NAME]: metadata.name, [MANAGED_BY]: managedBy };
}

export function mirroredAnnotations({ metadata }: ReadEndpoints): Record<string, string> {
  const { [LAST_CHANGE]: _, [LAST_APPLIED]: __, ...others } = metadata.annotations ?? {};
  return others;
}
