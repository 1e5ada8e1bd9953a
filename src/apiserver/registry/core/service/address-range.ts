// IPv4 ranges as numbers.

import type { NumberRange } from './allocator.ts';

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

/**
 * The usable addresses of a service range. Its lower part (a sixteenth, from 16 to 256 addresses) is given out last, so that
 * addresses that somebody wants by name are likely to be free. Throws RangeError for what is no IPv4 range.
 */
export function serviceAddressRange(cidr: string): NumberRange {
  const [address = '', length = ''] = cidr.split('/');
  const base = parseIPv4(address);
  const prefix = Number(length);
  if (base === undefined || !/^\d{1,2}$/.test(length) || prefix < 8 || prefix > 29) {
    throw new RangeError(`a service range is an IPv4 range with a prefix of 8 to 29 bits, such as 10.96.0.0/16, not '${cidr}'`);
  }
  const size = 2 ** (32 - prefix);
  const network = base - (base % size);
  const reserved = size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256);
  return { first: network + 1, last: network + size - 2, firstDynamic: network + 1 + (reserved >= size - 2 ? 0 : reserved) };
}
