// Finds the interfaces that lead to the link of an address. Pure; parses the JSON output of
// iproute2.

import { contains, type IpFamily, parseCidr, parseIp } from '#machinery/net/ip.ts';
import { isClusterInterface } from '#machinery/net/service-interface.ts';

/** An entry of `ip -j address`, with the fields in use. */
export interface InterfaceEntry {
  readonly ifname: string;
  readonly flags: readonly string[];
  readonly addr_info: readonly {
    readonly family: string;
    readonly local: string;
    readonly prefixlen: number;
    readonly tentative?: boolean;
    readonly dadfailed?: boolean;
  }[];
}

/** An entry of `ip -j route show default`. */
export interface RouteEntry {
  readonly dev?: string;
}

/**
 * Returns the interfaces whose network contains the address; if there are none, the interfaces of
 * the default route, because several networks may share that link.
 */
export function linksOf(
  address: string,
  interfaces: readonly InterfaceEntry[],
  defaultRoutes: readonly RouteEntry[],
): readonly string[] {
  const parsed = parseIp(address);
  if (parsed === undefined) return [];
  const usable = interfaces.filter(
    ({ ifname, flags }) =>
      flags.includes('UP') && !flags.includes('LOOPBACK') && !isClusterInterface(ifname),
  );
  const within = usable.filter(({ addr_info: entries }) =>
    entries.some(({ local, prefixlen }) => {
      const network = local === address ? undefined : parseCidr(`${local}/${prefixlen}`);
      return (
        network !== undefined && network.prefix < bitsOf(parsed.family) && contains(network, parsed)
      );
    }),
  );
  if (within.length > 0) return within.map(({ ifname }) => ifname);
  const devices = new Set(defaultRoutes.map(({ dev }) => dev));
  return usable.filter(({ ifname }) => devices.has(ifname)).map(({ ifname }) => ifname);
}

const bitsOf = (family: IpFamily): number => (family === 'IPv4' ? 32 : 128);
