// Ranges of cluster IPs: their usable addresses, and the order of allocation.

import { type IpFamily, type IpRange, parseCidr } from '#machinery/net/ip.ts';

export interface AddressRange extends IpRange {
  readonly cidr: string;
  /** The first and the last usable address. If the last is less than the first, there are none. */
  readonly firstUsable: bigint;
  readonly lastUsable: bigint;
  /**
   * Dynamic allocation starts here. The addresses below are used last, so that they stay free for
   * requests by address.
   */
  readonly firstDynamic: bigint;
}

/** The shortest supported prefix of a range of IPv6 addresses. */
const SHORTEST_IPV6_PREFIX = 64;

/**
 * Returns the usable addresses of a range; undefined if the range is not supported. The lower part
 * (a sixteenth, from 16 to 256 addresses; empty for small ranges) is used last, so that requested
 * addresses are likely to be free.
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
 * Parses the server's ranges: one range, or one of each family, separated by a comma. The first one
 * is for services without a family. Throws RangeError for anything else.
 */
export function serviceAddressRanges(cidrs: string): readonly AddressRange[] {
  const ranges = cidrs.split(',').map(serviceAddressRange);
  if (ranges.length > 2 || (ranges.length === 2 && ranges[0]?.family === ranges[1]?.family)) {
    throw new RangeError(
      `there may be one range of each family, such as 10.96.0.0/16,fd00:10:96::/112, not '${cidrs}'`,
    );
  }
  return ranges;
}

/** The allowed lengths of the prefixes of a server's ranges. */
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
  throw new RangeError(`a service range must have the form ${examples}, not '${cidr}'`);
}
