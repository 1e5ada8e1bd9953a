// Ranges of cluster IPs: which of their addresses are given out, and in which order.

import { type IpFamily, type IpRange, parseCidr } from '#machinery/net/ip.ts';

export interface AddressRange extends IpRange {
  readonly cidr: string;
  /** The addresses that are given out, both included; there are none if the last is less than the first. */
  readonly firstUsable: bigint;
  readonly lastUsable: bigint;
  /** Free choice begins here; those below are for who asks for one by name, as long as there are others. */
  readonly firstDynamic: bigint;
}

/** The shortest prefix of a range of IPv6 addresses that anything is given out from. */
const SHORTEST_IPV6_PREFIX = 64;

/**
 * The usable addresses of a range, undefined if there are none to be had of such a one. Its lower part (a sixteenth, from 16
 * to 256 addresses; none of a range that has no more) is given out last, so that what somebody wants by name is likely free.
 */
export function addressRange(cidr: string): AddressRange | undefined {
  const range = parseCidr(cidr);
  if (range === undefined || (range.family === 'IPv6' && range.prefix < SHORTEST_IPV6_PREFIX))
    return undefined;
  const { first, last, family } = range;
  const firstUsable = first + 1n;
  const lastUsable = family === 'IPv4' ? last - 1n : last;
  const size = last - first + 1n;
  const part = size / 16n;
  const reserved = size < 16n ? 0n : part < 16n ? 16n : part > 256n ? 256n : part;
  const firstDynamic = firstUsable + reserved > lastUsable ? firstUsable : firstUsable + reserved;
  return { ...range, cidr, firstUsable, lastUsable, firstDynamic };
}

/**
 * What a server is started with: one range, or one of each family with a comma between them; the first is that of services which
 * do not say. Throws RangeError for anything else.
 */
export function serviceAddressRanges(cidrs: string): readonly AddressRange[] {
  const ranges = cidrs.split(',').map(serviceAddressRange);
  if (ranges.length > 2 || (ranges.length === 2 && ranges[0]?.family === ranges[1]?.family)) {
    throw new RangeError(
      `there is one range of each family at most, such as 10.96.0.0/16,fd00:10:96::/112, not '${cidrs}'`,
    );
  }
  return ranges;
}

/** Prefixes that a cluster may begin with. */
const PREFIXES: Readonly<
  Record<IpFamily, { readonly shortest: number; readonly longest: number }>
> = {
  IPv4: { shortest: 8, longest: 29 },
  IPv6: { shortest: SHORTEST_IPV6_PREFIX, longest: 125 },
};

function serviceAddressRange(cidr: string): AddressRange {
  const range = addressRange(cidr);
  if (range !== undefined) {
    const { shortest, longest } = PREFIXES[range.family];
    if (range.prefix >= shortest && range.prefix <= longest) return range;
  }
  const examples =
    'an IPv4 range with a prefix of 8 to 29 bits or an IPv6 range with one of 64 to 125, such as 10.96.0.0/16';
  throw new RangeError(`a service range is ${examples}, not '${cidr}'`);
}
