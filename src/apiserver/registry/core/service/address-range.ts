// Ranges of cluster IPs, whose addresses are numbers: IPv4 addresses themselves, IPv6 addresses by their place in the range.

import { isIPv6 } from 'node:net';
import type { NumberRange } from './allocator.ts';

export type Family = 'IPv4' | 'IPv6';

export interface AddressRange extends NumberRange {
  readonly cidr: string;
  readonly family: Family;
  /** Undefined if it is none of this family, or cannot be a number of this range. */
  numberOf(address: string): number | undefined;
  addressOf(number: number): string;
}

/** 10.96.0.1 as a number; undefined if it is no IPv4 address. */
export function parseIPv4(address: string): number | undefined {
  const parts = address.split('.');
  if (parts.length !== 4) return undefined;
  let number = 0;
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return undefined;
    number = number * 256 + Number(part);
  }
  return number;
}

export function formatIPv4(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}

/** One range, or one of each family; the first is that of services which do not say. Throws RangeError for anything else. */
export function serviceAddressRanges(cidrs: string): readonly AddressRange[] {
  const ranges = cidrs.split(',').map(serviceAddressRange);
  if (ranges.length > 2 || (ranges.length === 2 && ranges[0]?.family === ranges[1]?.family)) {
    throw new RangeError(`there is one range of each family at most, such as 10.96.0.0/16,fd00:10:96::/112, not '${cidrs}'`);
  }
  return ranges;
}

/**
 * The usable addresses of a service range. Its lower part (a sixteenth, from 16 to 256 addresses) is given out last, so that
 * addresses that somebody wants by name are likely to be free. Throws RangeError for what is no range.
 */
export function serviceAddressRange(cidr: string): AddressRange {
  const [address = '', length = '', ...rest] = cidr.split('/');
  const prefix = rest.length === 0 && /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  const base = parseIPv4(address);
  if (base !== undefined && prefix >= 8 && prefix <= 29) {
    const size = 2 ** (32 - prefix);
    const network = base - (base % size);
    const numbers = usable(network, size, network + size - 2);
    return { cidr, family: 'IPv4', ...numbers, numberOf: parseIPv4, addressOf: formatIPv4 };
  }
  if (isIPv6(address) && !address.includes('%') && prefix >= 64 && prefix <= 125) return rangeOfIPv6(cidr, address, prefix);
  const examples = 'an IPv4 range with a prefix of 8 to 29 bits or an IPv6 range with one of 64 to 125, such as 10.96.0.0/16';
  throw new RangeError(`a service range is ${examples}, not '${cidr}'`);
}

/** No more of a large range is used than can be counted well. */
const MOST = 2 ** 32;

function rangeOfIPv6(cidr: string, address: string, prefix: number): AddressRange {
  const size = Math.min(2 ** (128 - prefix), MOST);
  const mask = (1n << BigInt(128 - prefix)) - 1n;
  const network = parseIPv6(address) & ~mask;
  return {
    cidr,
    family: 'IPv6',
    ...usable(0, size, size - 1),
    numberOf(text) {
      if (!isIPv6(text) || text.includes('%')) return undefined;
      const offset = parseIPv6(text) - network;
      return offset >= 0n && offset < BigInt(size) ? Number(offset) : undefined;
    },
    addressOf: (number) => formatIPv6(network + BigInt(number)),
  };
}

function usable(network: number, size: number, last: number): NumberRange {
  const reserved = size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256);
  return { first: network + 1, last, firstDynamic: network + 1 + (reserved >= size - 2 ? 0 : reserved) };
}

/** `text`: an IPv6 address. */
function parseIPv6(text: string): bigint {
  const dotted = parseIPv4(text.slice(text.lastIndexOf(':') + 1));
  const plain =
    dotted === undefined
      ? text
      : `${text.slice(0, text.lastIndexOf(':') + 1)}${Math.floor(dotted / 65_536).toString(16)}:${(dotted % 65_536).toString(16)}`;
  const [head = '', tail] = plain.split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const middle = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...middle, ...after].reduce((sum, part) => (sum << 16n) + BigInt(`0x${part}`), 0n);
}

/** In its canonical form. */
function formatIPv6(value: bigint): string {
  const parts = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(16 * (7 - index))) & 0xffffn).toString(16));
  return new URL(`http://[${parts.join(':')}]`).hostname.slice(1, -1);
}
