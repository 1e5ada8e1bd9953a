// IP addresses and ranges as numbers. Parsing is strict: no leading zeros, no zones.

import { isIPv4, isIPv6 } from 'node:net';

export type IpFamily = 'IPv4' | 'IPv6';

export interface IpAddress {
  readonly family: IpFamily;
  readonly value: bigint;
}

/** A network: its first and last address, network and broadcast addresses included. */
export interface IpRange {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly last: bigint;
  /** The length of the prefix in bits. */
  readonly prefix: number;
}

/** Parses an address. Returns undefined if the text is not an address. */
export function parseIp(text: string): IpAddress | undefined {
  if (isIPv4(text)) return { family: 'IPv4', value: BigInt(valueOfIPv4(text)) };
  if (isIPv6(text) && !text.includes('%')) return { family: 'IPv6', value: valueOfIPv6(text) };
  return undefined;
}

/** Returns the address in its canonical form (RFC 5952). */
export function formatIp({ family, value }: IpAddress): string {
  if (family === 'IPv4') {
    const number = Number(value);
    return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
  }
  const parts = Array.from({ length: 8 }, (_, index) =>
    ((value >> BigInt(16 * (7 - index))) & 0xffffn).toString(16),
  );
  return new URL(`http://[${parts.join(':')}]`).hostname.slice(1, -1);
}

/**
 * Parses a range: '10.0.0.7/24' is 10.0.0.0 to 10.0.0.255. Returns undefined if the text is no
 * range.
 */
export function parseCidr(text: string): IpRange | undefined {
  const slash = text.indexOf('/');
  const address = parseIp(text.slice(0, Math.max(slash, 0)));
  const length = text.slice(slash + 1);
  if (address === undefined || !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const prefix = Number(length);
  const bits = bitsOf(address.family);
  if (prefix > bits) return undefined;
  const hosts = (1n << BigInt(bits - prefix)) - 1n;
  return {
    family: address.family,
    first: address.value & ~hosts,
    last: address.value | hosts,
    prefix,
  };
}

export const bitsOf = (family: IpFamily): 32 | 128 => (family === 'IPv4' ? 32 : 128);

export const contains = (range: IpRange, address: IpAddress): boolean =>
  range.family === address.family && address.value >= range.first && address.value <= range.last;

/** Reports whether every address of `inner` is in `outer`. */
export const containsRange = (outer: IpRange, inner: IpRange): boolean =>
  outer.family === inner.family && inner.first >= outer.first && inner.last <= outer.last;

export const overlaps = (a: IpRange, b: IpRange): boolean =>
  a.family === b.family && a.first <= b.last && b.first <= a.last;

/**
 * Reports whether an address can be allocated from the range. The network address, and the
 * broadcast address of IPv4, cannot. `address` may be of any family.
 */
export function isHostOf(range: IpRange, address: IpAddress): boolean {
  if (!contains(range, address) || address.value === range.first) return false;
  return range.family === 'IPv6' || address.value !== range.last;
}

function valueOfIPv4(text: string): number {
  let value = 0;
  for (const part of text.split('.')) value = value * 256 + Number(part);
  return value;
}

function valueOfIPv6(text: string): bigint {
  const colon = text.lastIndexOf(':');
  const end = text.slice(colon + 1);
  let plain = text;
  if (end.includes('.')) {
    const dotted = valueOfIPv4(end);
    plain = `${text.slice(0, colon + 1)}${Math.floor(dotted / 65_536).toString(16)}:${(dotted % 65_536).toString(16)}`;
  }
  const [head = '', tail = ''] = plain.split('::');
  const before = head.split(':').filter(Boolean);
  const after = tail.split(':').filter(Boolean);
  const middle = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...middle, ...after].reduce(
    (sum, part) => (sum << 16n) + BigInt(`0x${part}`),
    0n,
  );
}

/**
 * IPv6 ranges with an embedded IPv4 address in their last groups (6to4: second and third). A packet
 * may end at that address.
 */
const EMBEDDED_V4: readonly { readonly range: IpRange; readonly shift: bigint }[] = [
  // IPv4-mapped, IPv4-compatible, NAT64, 6to4.
  { range: parseCidr('::ffff:0:0/96')!, shift: 0n },
  { range: parseCidr('::/96')!, shift: 0n },
  { range: parseCidr('64:ff9b::/96')!, shift: 0n },
  { range: parseCidr('2002::/16')!, shift: 80n },
];

/** Unspecified, loopback, link-local, multicast and broadcast addresses. */
const NOT_GLOBAL = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  '::1/128',
  'fe80::/10',
  'ff00::/8',
].map((range) => parseCidr(range)!);

/**
 * Reports whether `text` is an address that can belong to another machine: not unspecified,
 * loopback, link-local, multicast or broadcast. Private ranges count as global, as in Go's
 * IsGlobalUnicast. An IPv6 address that embeds an IPv4 address is judged by both. False for text
 * that is not an address, and for addresses with a zone.
 */
export function isGlobalUnicast(text: string): boolean {
  const address = parseIp(text);
  if (address === undefined || NOT_GLOBAL.some((range) => contains(range, address))) return false;
  const embedded = EMBEDDED_V4.find(({ range }) => contains(range, address));
  if (embedded === undefined) return true;
  const inner: IpAddress = {
    family: 'IPv4',
    value: (address.value >> embedded.shift) & 0xffff_ffffn,
  };
  return !NOT_GLOBAL.some((range) => contains(range, inner));
}
