// Services and EndpointSlices in packed form: only the fields that records depend on, with
// addresses as bytes. An informer packs each object before it stores it.

import type { Service } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { SERVICE_NAME_LABEL } from '#client/endpoints/index.ts';
import { isDNS1123Label } from '#machinery/validation/validation.ts';
import { parseName, type Labels } from '../wire/names.ts';
import { addressBytes } from './addresses.ts';

export { SERVICE_NAME_LABEL };

/**
 * A port; its name and protocol are in lower case. `port` -1: no port, so there is no SRV record.
 */
export interface PackedPort {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

export interface PackedService extends KubeObject {
  /** 'namespace/name'. */
  readonly key: string;
  readonly headless: boolean;
  /** The cluster IPs. */
  readonly addresses: readonly Uint8Array[];
  readonly ports: readonly PackedPort[];
  /**
   * The name of an ExternalName service; undefined for other services, and for names that DNS does
   * not allow.
   */
  readonly externalName: Labels | undefined;
  readonly isExternal: boolean;
}

export interface PackedSlice extends KubeObject {
  /** The key of the service, 'namespace/name'. */
  readonly service: string;
  readonly ports: readonly PackedPort[];
  /** The number of bytes of one address: 4 or 16. */
  readonly size: number;
  /** The addresses of ready endpoints, concatenated. */
  readonly addresses: Uint8Array;
  /** Position → hostname. Absent: no endpoint has one. */
  readonly hostnames: readonly (string | undefined)[] | undefined;
  /** Hostname → position, or several positions. */
  readonly byHostname: ReadonlyMap<string, number | readonly number[]> | undefined;
}

/** A service or slice without ports has records, but no SRV record. */
const NO_PORTS: readonly PackedPort[] = [{ name: '', protocol: '', port: -1 }];

export function packService(service: Immutable<Service>): PackedService {
  const { spec } = service;
  const ips = spec.clusterIPs?.length
    ? spec.clusterIPs
    : spec.clusterIP === undefined
      ? []
      : [spec.clusterIP];
  const isExternal = spec.type === 'ExternalName';
  return {
    metadata: packedMetadata(service),
    key: `${service.metadata.namespace ?? ''}/${service.metadata.name ?? ''}`,
    headless: ips[0] === 'None',
    addresses: ips.flatMap((ip) => addressBytes(ip) ?? []),
    ports: spec.ports?.length ? spec.ports.map(packPort) : NO_PORTS,
    isExternal,
    externalName: isExternal ? externalNameOf(spec.externalName ?? '') : undefined,
  };
}

/** Returns the labels of an external name. An IP address is not a name: it would never resolve. */
function externalNameOf(text: string): Labels | undefined {
  if (addressBytes(text) !== undefined) return undefined;
  const labels = parseName(text);
  return labels === undefined || labels.length === 0 ? undefined : labels;
}

export function packSlice(slice: Immutable<EndpointSlice>): PackedSlice {
  const size = slice.addressType === 'IPv4' ? 4 : 16;
  const found: Uint8Array[] = [];
  const hostnames: (string | undefined)[] = [];
  for (const { addresses, conditions, hostname } of slice.endpoints ?? []) {
    // An unknown state counts as ready.
    if (conditions.ready === false) continue;
    for (const address of addresses) {
      const bytes = slice.addressType === 'FQDN' ? undefined : addressBytes(address);
      if (bytes?.length !== size) continue;
      found.push(bytes);
      hostnames.push(
        hostname !== undefined && isDNS1123Label(hostname).length === 0 ? hostname : undefined,
      );
    }
  }
  const addresses = new Uint8Array(found.length * size);
  for (const [i, bytes] of found.entries()) addresses.set(bytes, i * size);
  const { namespace = '' } = slice.metadata;
  const named = hostnames.some((hostname) => hostname !== undefined);
  return {
    metadata: packedMetadata(slice),
    service: `${namespace}/${slice.metadata.labels?.[SERVICE_NAME_LABEL] ?? ''}`,
    ports: slice.ports?.length ? slice.ports.map(packPort) : NO_PORTS,
    size,
    addresses,
    hostnames: named ? hostnames : undefined,
    byHostname: named ? positionsOf(hostnames) : undefined,
  };
}

function positionsOf(
  hostnames: readonly (string | undefined)[],
): ReadonlyMap<string, number | readonly number[]> {
  const positions = new Map<string, number | readonly number[]>();
  for (const [position, hostname] of hostnames.entries()) {
    if (hostname === undefined) continue;
    const present = positions.get(hostname);
    const before = present === undefined ? [] : typeof present === 'number' ? [present] : present;
    positions.set(hostname, before.length === 0 ? position : [...before, position]);
  }
  return positions;
}

function packPort({
  name,
  protocol,
  port,
}: {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
}): PackedPort {
  return {
    name: (name ?? '').toLowerCase(),
    protocol: (protocol ?? 'TCP').toLowerCase(),
    port: port ?? -1,
  };
}

/** Returns the metadata by which an informer distinguishes objects and their versions. */
function packedMetadata({ metadata }: Immutable<KubeObject>): KubeObject['metadata'] {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    name,
    uid,
    resourceVersion,
    creationTimestamp,
    ...(namespace !== undefined && { namespace }),
  };
}
