// IP addresses and prefixes as numbers, with the canonical text of RFC 5952.

import { isIP } from 'node:net';

export interface Address {
  readonly family: 4 | 6;
  readonly value: bigint;
}

export interface Prefix {
  readonly address: Address;
  readonly bits: number;
}

const WIDTH = { 4: 32, 6: 128 } as const;

/** Reports whether the address is in ::ffff:0:0/96. */
export const isMapped = ({ family, value }: Address): boolean =>
  family === 6 && value >> 32n === 0xffffn;

/** Parses an address without a zone; undefined if the text is none. */
export function parseAddress(text: string): Address | undefined {
  const family = isIP(text);
  if (family === 4) return { family, value: parseIPv4(text) };
  if (family !== 6 || text.includes('%')) return undefined;
  return { family, value: parseIPv6(text) };
}

const parseIPv4 = (text: string): bigint =>
  text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);

function parseIPv6(text: string): bigint {
  // The last 32 bits may be written as IPv4.
  const plain = text.replace(/[0-9.]+\.[0-9.]+$/, (part) => {
    const value = parseIPv4(part);
    return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
  });
  const [head = '', tail] = plain.split('::') as [string?, string?];
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const all = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  return all.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

export function formatAddress(address: Address): string {
  const { family, value } = address;
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  if (isMapped(address))
    return `::ffff:${formatAddress({ family: 4, value: value & 0xffffffffn })}`;
  const groups = Array.from({ length: 8 }, (_, index) =>
    Number((value >> BigInt(112 - 16 * index)) & 0xffffn),
  );
  // The first of the longest runs of two or more zeros is left out.
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = (part: number[]): string => part.map((group) => group.toString(16)).join(':');
  if (best.start < 0) return hex(groups);
  return `${hex(groups.slice(0, best.start))}::${hex(groups.slice(best.start + best.length))}`;
}

/** Parses a prefix; undefined if the text is none. Bits behind its length may be set. */
export function parsePrefix(text: string): Prefix | undefined {
  const slash = text.lastIndexOf('/');
  const length = text.slice(slash + 1);
  if (slash < 0 || !/^(?:0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  const address = parseAddress(text.slice(0, slash));
  if (address === undefined || Number(length) > WIDTH[address.family]) return undefined;
  return { address, bits: Number(length) };
}

export const formatPrefix = ({ address, bits }: Prefix): string =>
  `${formatAddress(address)}/${bits}`;

/** Returns the address with all bits after the first `bits` cleared. */
export function maskAddress({ family, value }: Address, bits: number): Address {
  const free = BigInt(WIDTH[family] - bits);
  return { family, value: (value >> free) << free };
}

/** Reports whether the address is in the prefix. */
export function contains(prefix: Prefix, address: Address): boolean {
  if (prefix.address.family !== address.family) return false;
  return maskAddress(prefix.address, prefix.bits).value === maskAddress(address, prefix.bits).value;
}
