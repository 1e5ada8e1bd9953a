// The endpoints of a service's ports from its EndpointSlices.

import { isIPv4 } from 'node:net';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatIp, type IpFamily, isGlobalUnicast, parseIp } from '#machinery/net/ip.ts';
import {
  type Endpoint,
  type EndpointsByPort,
  MAX_ENDPOINTS,
  portKey,
  protocolOf,
} from './endpoint.ts';

type Slice = Immutable<EndpointSlice>;

export interface EndpointsOptions {
  /** The node whose endpoints are local. Default: no endpoint is local. */
  readonly nodeName?: string;
  /** Receives a line for each kind of endpoint that is left out. */
  readonly problems?: Set<string>;
  /**
   * Include addresses of the own machine or link, for targets that an administrator has chosen.
   * Default: false.
   */
  readonly anyAddress?: boolean;
}

/**
 * Returns the endpoints of one family, for each port sorted by address. An address that cannot
 * belong to a pod or another machine (loopback, link-local, multicast …) is left out: a service
 * must not give access to listeners that serve the node only.
 *
 * @param slices those of one service; slices of other families are ignored
 */
export function endpointsOf(
  slices: readonly Slice[],
  family: IpFamily,
  { nodeName, problems, anyAddress = false }: EndpointsOptions = {},
): EndpointsByPort {
  const byPort = new Map<string, Map<string, Endpoint>>();
  for (const slice of slices) {
    if (slice.addressType !== family) continue;
    const addresses = addressesOf(slice, family, anyAddress);
    for (const text of addresses.refused) {
      problems?.add(
        `endpoint ${JSON.stringify(text)} in EndpointSlice ${slice.metadata.name} ` +
          'is no address that a service may lead to',
      );
    }
    for (const { name, port, protocol: text } of slice.ports ?? []) {
      const protocol = protocolOf(text);
      // A port without a number stands for all ports, which no service port can be.
      if (port === undefined || port < 1 || port > 65_535 || protocol === undefined) {
        problems?.add(
          `port ${JSON.stringify(name ?? '')} in EndpointSlice ${slice.metadata.name} has no usable number`,
        );
        continue;
      }
      const key = portKey(name ?? '', protocol);
      const endpoints = byPort.get(key) ?? new Map<string, Endpoint>();
      byPort.set(key, endpoints);
      for (const { endpoint, ip } of addresses.usable) {
        const { conditions = {}, hints, nodeName: at, targetRef } = endpoint;
        const terminating = conditions.terminating === true;
        const id = `${ip} ${port}`;
        // An endpoint may be in two slices for a moment, or a new pod may use its address already.
        // The terminating one is ignored.
        if (endpoints.has(id) && terminating) continue;
        if (endpoints.size >= MAX_ENDPOINTS && !endpoints.has(id)) {
          problems?.add(
            `port ${JSON.stringify(name ?? '')} has more than ${MAX_ENDPOINTS} endpoints`,
          );
          break;
        }
        endpoints.set(id, {
          ip,
          port,
          nodeName: at ?? '',
          local: at !== undefined && at === nodeName,
          targetRef,
          ready: conditions.ready !== false,
          serving: conditions.serving !== false,
          terminating,
          zones: (hints?.forZones ?? []).map((zone) => zone.name),
          nodes: (hints?.forNodes ?? []).map((node) => node.name),
        });
      }
    }
  }
  return new Map(
    Array.from(byPort, ([key, found]) => [
      key,
      [...found].sort(byId).map(([, endpoint]) => endpoint),
    ]),
  );
}

interface SliceAddresses {
  readonly usable: readonly {
    readonly endpoint: NonNullable<Slice['endpoints']>[number];
    readonly ip: string;
  }[];
  readonly refused: readonly string[];
}

/** Slices are immutable, so only a changed slice of a service is parsed again. */
const globalAddresses = new WeakMap<Slice, SliceAddresses>();
const allAddresses = new WeakMap<Slice, SliceAddresses>();

function addressesOf(slice: Slice, family: IpFamily, anyAddress: boolean): SliceAddresses {
  const bySlice = anyAddress ? allAddresses : globalAddresses;
  let addresses = bySlice.get(slice);
  if (addresses === undefined) {
    const refused: string[] = [];
    const usable = (slice.endpoints ?? []).flatMap((endpoint) => {
      const text = endpoint.addresses[0] ?? '';
      const ip = anyAddress
        ? canonical(text, family)
        : family === 'IPv4'
          ? usableIPv4(text)
          : usableIPv6(text);
      if (ip === undefined) refused.push(text);
      return ip === undefined ? [] : [{ endpoint, ip }];
    });
    addresses = { usable, refused };
    bySlice.set(slice, addresses);
  }
  return addresses;
}

function canonical(text: string, family: IpFamily): string | undefined {
  const address = parseIp(text);
  return address?.family === family ? formatIp(address) : undefined;
}

/**
 * Returns the address if it is usable. Same result as isGlobalUnicast without 128-bit numbers: a
 * cluster has ten thousands of addresses.
 */
export function usableIPv4(text: string): string | undefined {
  if (!isIPv4(text) || text === '255.255.255.255' || text.startsWith('169.254.')) return undefined;
  const first = Number(text.slice(0, text.indexOf('.')));
  return first === 0 || first === 127 || (first >= 224 && first < 240) ? undefined : text;
}

function usableIPv6(text: string): string | undefined {
  const parsed = parseIp(text);
  return parsed?.family === 'IPv6' && isGlobalUnicast(text) ? formatIp(parsed) : undefined;
}

const byId = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : 1;
