// Computes the iproute2 commands that change one state of a machine into another. Pure.

import { isIPv6 } from 'node:net';
import type { PodNetworkNames, PodNetworkState, Route, VxlanDevice } from './model.ts';
import { ROUTE_PROTOCOL } from './names.ts';

/** A line for `ip -batch` or `bridge -batch`. */
export interface Change {
  readonly program: 'ip' | 'bridge';
  readonly args: readonly string[];
}

/**
 * Arguments that are safe in a line of a batch. Links whose names have other characters are not
 * used.
 */
export const BATCH_ARGUMENT = /^[^\s'"#\\]+$/;

/**
 * Returns the changes in the order in which they must be made. Equal parts of both states are not
 * touched, so flowing traffic is not disturbed. Routes to removed nodes are removed before the
 * entries that they need.
 */
export function difference(
  actual: PodNetworkState,
  wanted: PodNetworkState,
  names: PodNetworkNames,
): readonly Change[] {
  const ip: string[][] = [];
  const bridge: string[][] = [];
  for (const [destination, route] of actual.routes) {
    const next = wanted.routes.get(destination);
    // `replace` would leave the old route beside the new one, since a route with another link is
    // another route.
    if (next === undefined || next.link !== route.link)
      ip.push(['route', 'del', ...routeArgs(route, names)]);
  }
  const isReplaced = mustBeReplaced(actual.vxlan, wanted.vxlan);
  if (isReplaced && actual.vxlan !== undefined) ip.push(['link', 'del', names.vxlan]);
  // Replacing the device removes everything on it.
  const before: PodNetworkState = isReplaced
    ? { ...actual, vxlan: undefined, forwarding: new Map(), neighbours: new Map() }
    : actual;
  ip.push(...deviceCommands(before.vxlan, wanted.vxlan, names));
  const dev = ['dev', names.vxlan];
  for (const address of before.neighbours.keys())
    if (!wanted.neighbours.has(address)) ip.push(['neighbour', 'del', address, ...dev]);
  for (const [address, mac] of wanted.neighbours) {
    if (before.neighbours.get(address) !== mac)
      ip.push(['neighbour', 'replace', address, 'lladdr', mac, 'nud', 'permanent', ...dev]);
  }
  for (const [mac, node] of before.forwarding)
    if (!wanted.forwarding.has(mac)) bridge.push(['fdb', 'del', mac, 'dst', node, ...dev, 'self']);
  for (const [mac, node] of wanted.forwarding)
    if (before.forwarding.get(mac) !== node)
      bridge.push(['fdb', 'replace', mac, 'dst', node, ...dev, 'self', 'permanent']);
  for (const [destination, route] of wanted.routes) {
    const present = actual.routes.get(destination);
    const isGone = isReplaced && present?.link === names.vxlan;
    if (isGone || present?.via !== route.via || present.link !== route.link)
      ip.push(['route', 'replace', ...routeArgs(route, names)]);
  }
  return [
    ...ip.map((args): Change => ({ program: 'ip', args })),
    ...bridge.map((args): Change => ({ program: 'bridge', args })),
  ];
}

function routeArgs(
  { destination, via, link }: Route,
  { metric, vxlan }: PodNetworkNames,
): string[] {
  return [
    destination,
    'via',
    via,
    'dev',
    link,
    'metric',
    String(metric),
    'proto',
    String(ROUTE_PROTOCOL),
    // The next hop in the tunnel is outside of the device's ranges.
    ...(link === vxlan ? ['onlink'] : []),
  ];
}

/**
 * Reports whether the device must be replaced, because the kernel cannot change these properties.
 */
function mustBeReplaced(actual: VxlanDevice | undefined, wanted: VxlanDevice | undefined): boolean {
  if (actual === undefined || wanted === undefined) return actual !== wanted;
  return (['id', 'port', 'local', 'mac'] as const).some((key) => actual[key] !== wanted[key]);
}

function deviceCommands(
  actual: VxlanDevice | undefined,
  wanted: VxlanDevice | undefined,
  { vxlan }: PodNetworkNames,
): string[][] {
  if (wanted === undefined) return [];
  const { id, port, local, mac, mtu, addresses } = wanted;
  const commands: string[][] = [];
  if (actual === undefined) {
    const settings = ['id', String(id), 'dstport', String(port), 'local', local, 'nolearning'];
    commands.push([
      'link',
      'add',
      vxlan,
      'address',
      mac,
      'mtu',
      String(mtu),
      'type',
      'vxlan',
      ...settings,
    ]);
    // The neighbours of the interface are configured: the kernel need not add a link-local address
    // or send router solicitations.
    commands.push(['link', 'set', vxlan, 'addrgenmode', 'none']);
  } else if (actual.mtu !== mtu) commands.push(['link', 'set', vxlan, 'mtu', String(mtu)]);
  const present = new Set(actual?.addresses);
  for (const address of present)
    if (!addresses.includes(address)) commands.push(['address', 'del', address, 'dev', vxlan]);
  for (const address of addresses) {
    // The address is unique: without duplicate address detection it is usable at once.
    const isV6 = isIPv6(address.split('/')[0] ?? '');
    if (!present.has(address))
      commands.push(['address', 'replace', address, 'dev', vxlan, ...(isV6 ? ['nodad'] : [])]);
  }
  if (actual === undefined || !isUp(actual)) commands.push(['link', 'set', vxlan, 'up']);
  return commands;
}

/**
 * Reports whether the device is up. A device that is down is parsed without addresses (see
 * parse.ts), so that it is set up again.
 */
const isUp = ({ addresses }: VxlanDevice): boolean => addresses.length > 0;
