// Parses the output of `ip -json` and `bridge -json`. Missing fields count as absent, because
// versions of iproute2 differ.

import { formatIp, type IpFamily, parseCidr, parseIp } from '#machinery/net/ip.ts';
import type {
  ForeignRoute,
  Link,
  LinkAddress,
  Machine,
  PodNetworkNames,
  PodNetworkState,
  Route,
  VxlanDevice,
} from './model.ts';
import { ROUTE_PROTOCOL } from './names.ts';

/** The output of the programs. */
export interface Listings {
  /** The output of `ip -json -details address show`. */
  readonly addresses: string;
  /** The output of `ip -json route show table main`, for each family. */
  readonly routes: readonly string[];
  /** The output of `ip -json neighbour show dev VXLAN`; '' without the device. */
  readonly neighbours: string;
  /** The output of `bridge -json fdb show dev VXLAN`; '' without the device. */
  readonly forwarding: string;
}

type Entry = Readonly<Record<string, unknown>>;

/** Parses the state of the machine. Throws SyntaxError if a text is not JSON. */
export function parseMachine(listings: Listings, names: PodNetworkNames): Machine {
  const devices = entriesOf(listings.addresses);
  const links = devices.map((entry) => linkOf(entry));
  const routes = listings.routes.flatMap((text) => entriesOf(text));
  const isOwnRoute = (route: Entry): boolean =>
    text(route['protocol']) === String(ROUTE_PROTOCOL) && route['metric'] === names.metric;
  const own: PodNetworkState = {
    vxlan: vxlanOf(devices.find((entry) => entry['ifname'] === names.vxlan)),
    routes: new Map(routes.filter(isOwnRoute).flatMap((route) => ownRoute(route) ?? [])),
    forwarding: new Map(
      entriesOf(listings.forwarding).flatMap((entry) =>
        pair(entry['mac'], canonical(entry['dst'])),
      ),
    ),
    neighbours: new Map(
      entriesOf(listings.neighbours)
        .filter(({ state }) => Array.isArray(state) && state.includes('PERMANENT'))
        .flatMap((entry) => pair(canonical(entry['dst']), entry['lladdr'])),
    ),
  };
  const ownLinks = new Set([names.bridge, names.vxlan]);
  const foreignRoutes = routes
    .filter((route) => !isOwnRoute(route))
    .flatMap((route) => foreignRoute(route) ?? [])
    .filter(({ link }) => !ownLinks.has(link));
  return { links, foreignRoutes, own };
}

/** Reports whether `ip -json -details address show` lists the device. */
export const hasDevice = (addresses: string, name: string): boolean =>
  entriesOf(addresses).some((entry) => entry['ifname'] === name);

function entriesOf(json: string): readonly Entry[] {
  if (json.trim() === '') return [];
  const parsed: unknown = JSON.parse(json);
  return Array.isArray(parsed)
    ? parsed.filter((entry): entry is Entry => typeof entry === 'object' && entry !== null)
    : [];
}

const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

function canonical(value: unknown): string | undefined {
  const address = parseIp(text(value));
  return address === undefined ? undefined : formatIp(address);
}

const pair = (key: unknown, value: unknown): [string, string][] =>
  typeof key === 'string' && typeof value === 'string' ? [[key, value]] : [];

function flagsOf({ flags }: Entry): readonly unknown[] {
  return Array.isArray(flags) ? flags : [];
}

function addressesOf({ addr_info: list }: Entry): readonly Entry[] {
  return Array.isArray(list) ? (list as readonly Entry[]) : [];
}

function linkOf(entry: Entry): Link {
  const flags = flagsOf(entry);
  const addresses = addressesOf(entry).flatMap(({ local, prefixlen }): LinkAddress[] => {
    const address = parseIp(text(local));
    const range = parseCidr(`${text(local)}/${text(prefixlen)}`);
    return address === undefined || range === undefined ? [] : [{ ...address, range }];
  });
  return {
    name: text(entry['ifname']),
    mtu: Number(entry['mtu']),
    isUp: flags.includes('UP') && !flags.includes('NO-CARRIER'),
    isEthernet: entry['link_type'] === 'ether',
    isLoopback: flags.includes('LOOPBACK'),
    master: typeof entry['master'] === 'string' ? entry['master'] : undefined,
    addresses,
  };
}

/**
 * Returns the VXLAN device. A device with our name and of another type is returned with values that
 * never match, so that it is replaced.
 */
function vxlanOf(entry: Entry | undefined): VxlanDevice | undefined {
  if (entry === undefined) return undefined;
  const info = (entry['linkinfo'] ?? {}) as Entry;
  const data = (info['info_kind'] === 'vxlan' ? (info['info_data'] ?? {}) : {}) as Entry;
  const isUp = flagsOf(entry).includes('UP');
  return {
    id: data['learning'] === true ? -1 : Number(data['id'] ?? -1),
    port: Number(data['port'] ?? -1),
    local: canonical(data['local'] ?? data['local6']) ?? '',
    mac: text(entry['address']),
    mtu: Number(entry['mtu']),
    // A device that is down must be set up again, and may have lost addresses.
    addresses: isUp
      ? addressesOf(entry)
          .filter(({ scope }) => scope === 'global')
          .map(({ local, prefixlen }) => `${canonical(local) ?? ''}/${text(prefixlen)}`)
          .toSorted()
      : [],
  };
}

function ownRoute(entry: Entry): [string, Route][] {
  const destination = destinationOf(entry);
  const via = canonical(entry['gateway']);
  if (destination === undefined) return [];
  const range = parseCidr(destination);
  if (range === undefined) return [];
  return [
    [destination, { family: range.family, destination, via: via ?? '', link: text(entry['dev']) }],
  ];
}

function foreignRoute(entry: Entry): ForeignRoute | undefined {
  const destination = destinationOf(entry);
  const range = destination === undefined ? undefined : parseCidr(destination);
  const link = text(entry['dev']) || text(nextHopsOf(entry)[0]?.['dev']);
  if (range === undefined || link === '') return undefined;
  const via = (entry['via'] ?? {}) as Entry;
  return {
    range,
    link,
    gateway: parseIp(text(entry['gateway'] ?? via['host'] ?? nextHopsOf(entry)[0]?.['gateway'])),
    isConnected: entry['protocol'] === 'kernel',
    metric: Number(entry['metric'] ?? 0),
  };
}

const nextHopsOf = ({ nexthops: list }: Entry): readonly Entry[] =>
  Array.isArray(list) ? (list as readonly Entry[]) : [];

/**
 * Returns the destination, such as '10.0.0.0/24'. Routes to single addresses are printed without a
 * prefix.
 */
function destinationOf(entry: Entry): string | undefined {
  const destination = text(entry['dst']);
  if (destination === 'default') return familyOf(entry) === 'IPv6' ? '::/0' : '0.0.0.0/0';
  const range = parseCidr(destination);
  if (range !== undefined)
    return `${formatIp({ family: range.family, value: range.first })}/${range.prefix}`;
  const address = parseIp(destination);
  return address === undefined
    ? undefined
    : `${formatIp(address)}/${address.family === 'IPv4' ? 32 : 128}`;
}

/** Returns the family of a default route: only IPv6 routes are printed with a preference. */
function familyOf(entry: Entry): IpFamily {
  return entry['pref'] !== undefined || text(entry['gateway']).includes(':') ? 'IPv6' : 'IPv4';
}
