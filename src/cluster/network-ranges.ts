// Checks address ranges that a person gives.

import { isIPv4 } from 'node:net';
import { formatIp, overlaps, parseCidr } from '#machinery/net/ip.ts';
import type { IpFamily, IpRange } from '#machinery/net/ip.ts';
import { UserError } from './user-error.ts';

export interface Range {
  readonly cidr: string;
  /** The network's own address, as a number. */
  readonly base: number;
  readonly prefix: number;
  /** Index, within the range, of the part that the first node gets; the parts before it follow those at the end. Default: 0. */
  readonly firstPart?: number;
}

const DEFAULT_POD_BASE = 0x0a_f4_00_00;

/**
 * The range of pods of a cluster with so many nodes where none is given: 10.244.0.0/16, or as many bits shorter as are needed for a /24 for
 * each node (/14 for 1,000). A node with a given index always gets the same /24, so that the number of nodes may change between starts.
 */
export function defaultPodRange(nodes: number): Range {
  const prefix = Math.min(16, 24 - Math.ceil(Math.log2(nodes)));
  const base = DEFAULT_POD_BASE - (DEFAULT_POD_BASE % 2 ** (32 - prefix));
  return { cidr: `${formatAddress(base)}/${prefix}`, base, prefix, firstPart: (DEFAULT_POD_BASE - base) / 256 };
}

/** Throws UserError, which names the flag. `longest`: the most bits that the prefix may have. */
export function parseRange(flag: string, cidr: string, longest: number): Range {
  const [address = '', prefixText = '', ...rest] = cidr.split('/');
  const prefix = Number(prefixText);
  if (rest.length > 0 || !isIPv4(address) || !/^\d{1,2}$/.test(prefixText) || prefix < 8 || prefix > longest) {
    throw new UserError(
      `${flag} takes an IPv4 range with a prefix of 8 to ${longest} bits, such as 10.244.0.0/16, not '${cidr}'`,
    );
  }
  const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const base = value - (value % 2 ** (32 - prefix));
  if (base !== value)
    throw new UserError(`${flag}: ${cidr} is not the beginning of its range; did you mean ${formatAddress(base)}/${prefix}?`);
  return { cidr, base, prefix };
}

export function formatAddress(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}

export interface ServiceRange extends IpRange {
  readonly cidr: string;
}

const SERVICE_PREFIXES: Readonly<Record<IpFamily, readonly [shortest: number, longest: number]>> = {
  IPv4: [8, 29],
  IPv6: [64, 125],
};

/**
 * The ranges of cluster IPs: one, or one of each family with a comma between them, the first being that of services which do
 * not say. Throws UserError, which names the flag.
 */
export function parseServiceRanges(flag: string, text: string): readonly [ServiceRange, ...ServiceRange[]] {
  const parse = (cidr: string): ServiceRange => {
    const range = parseCidr(cidr);
    const [shortest, longest] = SERVICE_PREFIXES[range?.family ?? 'IPv4'];
    if (range === undefined || range.prefix < shortest || range.prefix > longest) {
      throw new UserError(
        `${flag} takes an IPv4 range with a prefix of 8 to 29 bits, an IPv6 range with one of 64 to 125, or one of each, ` +
          `such as 10.96.0.0/16,fd00:10:96::/112, not '${text}'`,
      );
    }
    const canonical = `${formatIp({ family: range.family, value: range.first })}/${range.prefix}`;
    if (canonical !== cidr) throw new UserError(`${flag}: ${cidr} is not the beginning of its range; did you mean ${canonical}?`);
    return { ...range, cidr };
  };
  const [first, second, ...more] = text.split(',').map(parse) as [ServiceRange, ...ServiceRange[]];
  if (more.length > 0 || second?.family === first.family) {
    throw new UserError(`${flag} takes one range of each family at most, such as 10.96.0.0/16,fd00:10:96::/112, not '${text}'`);
  }
  return second === undefined ? [first] : [first, second];
}

/** Throws UserError if pods and services could have the same addresses. */
export function checkApart(podCidr: string, services: readonly ServiceRange[]): void {
  const pods = parseCidr(podCidr);
  for (const range of services) {
    if (pods !== undefined && overlaps(pods, range)) {
      throw new UserError(`--pod-cidr ${podCidr} and --service-cidr ${range.cidr} overlap`);
    }
  }
}

/** The address that the Service `kubernetes` gets: the first of the first range. */
export const firstServiceAddress = ([{ family, first }]: readonly [ServiceRange, ...ServiceRange[]]): string =>
  formatIp({ family, value: first + 1n });

/** The address that the Service `kube-dns` gets: the tenth of the first range, as kubeadm has it. undefined: the range is too small. */
export function dnsServiceAddress([{ family, first, last }]: readonly [ServiceRange, ...ServiceRange[]]): string | undefined {
  return first + 10n < last ? formatIp({ family, value: first + 10n }) : undefined;
}

/** How many bits a node's part of the pod range has: 24, unless the range is smaller than that. */
const nodePrefix = (range: Range): number => Math.max(24, range.prefix);

/** The part of the pod range that belongs to the node with this index. Throws UserError if there are too few. */
export function nodeRange(range: Range, index: number): string {
  const prefix = nodePrefix(range);
  const available = 2 ** (prefix - range.prefix);
  if (index >= available) {
    throw new UserError(
      `--pod-cidr ${range.cidr} has room for ${available} nodes (a /${prefix} each); take a larger range or fewer nodes`,
    );
  }
  const part = ((range.firstPart ?? 0) + index) % available;
  return `${formatAddress(range.base + part * 2 ** (32 - prefix))}/${prefix}`;
}
