// Checks address ranges that a person gives.

import { formatIp, type IpFamily, type IpRange, overlaps, parseCidr } from '#machinery/net/ip.ts';
import { IpPool } from '#machinery/net/ip-pool.ts';
import { UserError } from '../user-error.ts';

/** The pods' ranges: one range, or one of each family. */
export interface PodRange {
  /** The text of the flag, with a comma between two ranges. */
  readonly cidr: string;
  readonly parts: readonly [FamilyRange, ...FamilyRange[]];
}

export interface FamilyRange extends IpRange {
  readonly cidr: string;
  /**
   * Index, within the range, of the first node's part; parts before it follow those at the end.
   * Default: 0.
   */
  readonly firstPart?: number;
}

const DEFAULT_POD_BASE = 0x0a_f4_00_00;
/** The nodes of 10.128.0.0/9. With more, the pods' range would meet the default one of services. */
const MOST_NODES = 32_768;
/** The first address of 240.0.0.0/4, which no network uses. */
const RESERVED_BASE = 0xf0_00_00_00;

/**
 * The range of pods of a cluster with so many nodes where none is given: 10.244.0.0/16, or as many
 * bits shorter as are needed for a /24 for each node (/14 for 1,000). A node with a given index
 * always gets the same /24, so that the number of nodes may change between starts. More than 32,768
 * nodes get a part of 240.0.0.0/4.
 */
export function defaultPodRange(nodes: number): PodRange {
  const prefix = Math.min(16, 24 - Math.ceil(Math.log2(nodes)));
  if (nodes > MOST_NODES) {
    const cidr = `${formatIp({ family: 'IPv4', value: BigInt(RESERVED_BASE) })}/${prefix}`;
    return { cidr, parts: [{ ...(parseCidr(cidr) as IpRange), cidr }] };
  }
  const base = DEFAULT_POD_BASE - (DEFAULT_POD_BASE % 2 ** (32 - prefix));
  const cidr = `${formatIp({ family: 'IPv4', value: BigInt(base) })}/${prefix}`;
  const range = parseCidr(cidr) as IpRange;
  return { cidr, parts: [{ ...range, cidr, firstPart: (DEFAULT_POD_BASE - base) / 256 }] };
}

/** The number of bits of a node's part, unless the range is smaller. */
const NODE_PREFIXES: Readonly<Record<IpFamily, number>> = { IPv4: 24, IPv6: 64 };
/** Bits of ranges. As with upstream's, a node's part of an IPv6 range has at most 16 bits more. */
const POD_PREFIXES: Readonly<Record<IpFamily, readonly [shortest: number, longest: number]>> = {
  IPv4: [4, 28],
  IPv6: [48, 64],
};

/** Throws UserError, which names the flag. */
export function parsePodRange(flag: string, text: string): PodRange {
  const wanted =
    'an IPv4 range with a prefix of 4 to 28 bits, an IPv6 range with one of 48 to 64, or one of each, ' +
    'such as 10.244.0.0/16,fd00:10:244::/56';
  const parse = (cidr: string): FamilyRange => {
    const range = parseCidr(cidr);
    const [shortest, longest] = POD_PREFIXES[range?.family ?? 'IPv4'];
    if (range === undefined || range.prefix < shortest || range.prefix > longest)
      throw new UserError(`${flag} takes ${wanted}, not '${text}'`);
    return { ...range, cidr: canonicalCidr(flag, cidr, range) };
  };
  const [first, second, ...more] = text.split(',').map(parse) as [FamilyRange, ...FamilyRange[]];
  if (more.length > 0 || second?.family === first.family)
    throw new UserError(`${flag} takes ${wanted}, not '${text}'`);
  return { cidr: text, parts: second === undefined ? [first] : [first, second] };
}

/** Throws UserError if the range does not begin where it should. */
function canonicalCidr(flag: string, cidr: string, { family, first, prefix }: IpRange): string {
  const canonical = `${formatIp({ family, value: first })}/${prefix}`;
  if (canonical !== cidr)
    throw new UserError(
      `${flag}: ${cidr} is not the beginning of its range; did you mean ${canonical}?`,
    );
  return cidr;
}

export interface ServiceRange extends IpRange {
  readonly cidr: string;
}

const SERVICE_PREFIXES: Readonly<Record<IpFamily, readonly [shortest: number, longest: number]>> = {
  IPv4: [8, 29],
  IPv6: [64, 125],
};

/**
 * Parses the ranges of cluster IPs: one, or one of each family with a comma between them. The first
 * is the range of services that do not name a family. Throws UserError, which names the flag.
 */
export function parseServiceRanges(
  flag: string,
  text: string,
): readonly [ServiceRange, ...ServiceRange[]] {
  const parse = (cidr: string): ServiceRange => {
    const range = parseCidr(cidr);
    const [shortest, longest] = SERVICE_PREFIXES[range?.family ?? 'IPv4'];
    if (range === undefined || range.prefix < shortest || range.prefix > longest) {
      throw new UserError(
        `${flag} takes an IPv4 range with a prefix of 8 to 29 bits, an IPv6 range with one ` +
          'of 64 to 125, or one of each, ' +
          `such as 10.96.0.0/16,fd00:10:96::/112, not '${text}'`,
      );
    }
    return { ...range, cidr: canonicalCidr(flag, cidr, range) };
  };
  const [first, second, ...more] = text.split(',').map(parse) as [ServiceRange, ...ServiceRange[]];
  if (more.length > 0 || second?.family === first.family) {
    throw new UserError(
      `${flag} takes one range of each family at most, such as 10.96.0.0/16,fd00:10:96::/112, not '${text}'`,
    );
  }
  return second === undefined ? [first] : [first, second];
}

/** Throws UserError if pods and services could have the same addresses. */
export function checkApart(
  { parts }: Pick<PodRange, 'parts'>,
  services: readonly ServiceRange[],
): void {
  for (const range of services) {
    const pods = parts.find((part) => overlaps(part, range));
    if (pods !== undefined)
      throw new UserError(`--pod-cidr ${pods.cidr} and --service-cidr ${range.cidr} overlap`);
  }
}

/**
 * Returns the pool of --load-balancer-pool. Throws UserError for text that is none, and if pods or
 * services could have its addresses.
 */
export function checkLoadBalancerPool(text: string, cidrs: readonly string[]): IpPool {
  let pool: IpPool;
  try {
    pool = IpPool.parse(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UserError(
      `--load-balancer-pool takes ranges and networks, such as 10.0.0.240-10.0.0.250,fd00::/120: ${error.message}`,
      { cause: error },
    );
  }
  for (const cidr of cidrs) {
    const range = parseCidr(cidr);
    if (range !== undefined && pool.meets(range))
      throw new UserError(`--load-balancer-pool ${text} and ${cidr} overlap`);
  }
  return pool;
}

/** The address that the Service `kubernetes` gets: the first of the first range. */
export const firstServiceAddress = ([{ family, first }]: readonly [
  ServiceRange,
  ...ServiceRange[],
]): string => formatIp({ family, value: first + 1n });

/**
 * The address that the Service `kube-dns` gets: the tenth of the first range, as kubeadm has it.
 * undefined: the range is too small.
 */
export function dnsServiceAddress([{ family, first, last }]: readonly [
  ServiceRange,
  ...ServiceRange[],
]): string | undefined {
  return first + 10n < last ? formatIp({ family, value: first + 10n }) : undefined;
}

/**
 * The part of the pod range that belongs to the node with this index, of each family. Throws
 * UserError if there are too few.
 */
export function nodeRanges({ parts }: PodRange, index: number): readonly [string, ...string[]] {
  return parts.map((range) => nodeRange(range, index)) as [string, ...string[]];
}

function nodeRange(
  { family, first, prefix, cidr, firstPart = 0 }: FamilyRange,
  index: number,
): string {
  const own = Math.max(NODE_PREFIXES[family], prefix);
  const available = 2 ** (own - prefix);
  if (index >= available) {
    throw new UserError(
      `--pod-cidr ${cidr} has room for ${available} nodes (a /${own} each); take a larger range or fewer nodes`,
    );
  }
  const part = (firstPart + index) % available;
  const size = 1n << BigInt((family === 'IPv4' ? 32 : 128) - own);
  return `${formatIp({ family, value: first + BigInt(part) * size })}/${own}`;
}
