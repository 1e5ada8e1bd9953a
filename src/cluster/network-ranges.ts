// Checks address ranges that a person gives.

import { isIPv4 } from 'node:net';
import { UserError } from './user-error.ts';

export interface Range {
  readonly cidr: string;
  /** The network's own address, as a number. */
  readonly base: number;
  readonly prefix: number;
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

export function overlap(a: Range, b: Range): boolean {
  const size = 2 ** (32 - Math.min(a.prefix, b.prefix));
  return Math.floor(a.base / size) === Math.floor(b.base / size);
}

/** How many bits a node's part of the pod range has: 24, unless the range is smaller than that. */
export const nodePrefix = (range: Range): number => Math.max(24, range.prefix);

/** The part of the pod range that belongs to the node with this index. Throws UserError if there are too few. */
export function nodeRange(range: Range, index: number): string {
  const prefix = nodePrefix(range);
  const available = 2 ** (prefix - range.prefix);
  if (index >= available) {
    throw new UserError(
      `--pod-cidr ${range.cidr} has room for ${available} nodes (a /${prefix} each); take a larger range or fewer nodes`,
    );
  }
  return `${formatAddress(range.base + index * 2 ** (32 - prefix))}/${prefix}`;
}
