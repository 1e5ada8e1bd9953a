// IP addresses as bytes, and as keys of maps that take little memory.

import { isIPv4, isIPv6 } from 'node:net';

/**
 * An IPv4 address as a signed number of 32 bits, which V8 keeps inside the map; an IPv6 address as
 * text of 16 characters.
 */
export type AddressKey = number | string;

/** Returns 4 or 16 bytes; undefined if the text is not an address, or has a zone. */
export function addressBytes(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split('.'), Number);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const colon = text.lastIndexOf(':');
  const end = text.slice(colon + 1);
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  let plain = text;
  if (end.includes('.')) {
    const [a = 0, b = 0, c = 0, d = 0] = end.split('.').map(Number);
    plain = `${text.slice(0, colon + 1)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [head = '', tail] = plain.split('::');
  const before = groups(head);
  const after = groups(tail ?? '');
  const all = [
    ...before,
    ...Array.from({ length: 8 - before.length - after.length }, () => 0),
    ...after,
  ];
  return Uint8Array.from(all.flatMap((group) => [group >>> 8, group & 255]));
}

/** Returns the key of the address in `bytes` at `offset`, of 4 or 16 bytes. */
export function addressKey(bytes: Uint8Array, offset = 0, length = bytes.length): AddressKey {
  if (length === 4) {
    return (
      (bytes[offset]! << 24) |
      (bytes[offset + 1]! << 16) |
      (bytes[offset + 2]! << 8) |
      bytes[offset + 3]!
    );
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset + offset, length).toString('latin1');
}

/** Returns the address in text form (RFC 5952). */
export function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((bytes[2 * i]! << 8) | bytes[2 * i + 1]!).toString(16),
  );
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/**
 * Returns the label under which an endpoint without a hostname has records: its address with
 * dashes. As CoreDNS: an IPv6 address that ends with a colon gets a zero, since a label does not
 * end with a dash.
 */
export function addressLabel(bytes: Uint8Array): string {
  const label = formatAddress(bytes).replace(/[.:]/g, '-');
  return label.endsWith('-') ? `${label}0` : label;
}

/** Returns the address of a label with dashes; undefined if it is not an address. */
export function parseAddressLabel(label: string): Uint8Array | undefined {
  const isV4 = label.split('-').length === 4 && !label.includes('--');
  return addressBytes(label.replaceAll('-', isV4 ? '.' : ':'));
}
