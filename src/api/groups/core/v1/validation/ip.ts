// Validation of addresses and ranges in fields that are older than the rule of a unique form.
// Leading zeros and IPv4-mapped IPv6 addresses were accepted once, but parsers interpret them
// differently. They are rejected now, unless they are stored already.

import { isIPv4 } from 'node:net';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { parseCidr, parseIp } from '#machinery/net/ip.ts';

const NO_ADDRESS = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const NO_RANGE = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

/** Validates an address. `old`: the previous addresses of the field. */
export function legacyIP(
  value: string,
  at: FieldPath,
  old: readonly string[] = [],
): FieldErrorList {
  if (isIPv4(value) || old.includes(value)) return [];
  const address = parseIp(value);
  if (address === undefined) {
    const message =
      parseIp(withoutLeadingZeros(value)) === undefined ? NO_ADDRESS : 'must not have leading 0s';
    return [field.invalid(at, value, message)];
  }
  return isMapped(value)
    ? [field.invalid(at, value, 'must not be an IPv4-mapped IPv6 address')]
    : [];
}

/** Validates a range. `old`: the previous ranges of the field. */
export function legacyCIDR(
  value: string,
  at: FieldPath,
  old: readonly string[] = [],
): FieldErrorList {
  if (old.includes(value)) return [];
  const slash = value.lastIndexOf('/');
  const address = value.slice(0, Math.max(slash, 0));
  const range = parseCidr(value);
  if (range === undefined) {
    const message = isRange(value) ? 'must not have leading 0s in IP or prefix length' : NO_RANGE;
    return [field.invalid(at, value, message)];
  }
  if (isMapped(address))
    return [field.invalid(at, value, 'must not have an IPv4-mapped IPv6 address')];
  if (parseIp(address)?.value === range.first) return [];
  return [field.invalid(at, value, 'must not have bits set beyond the prefix length')];
}

/** Reports whether the text is a range, in any form. */
export function isRange(value: string): boolean {
  const slash = value.lastIndexOf('/');
  const address = withoutLeadingZeros(value.slice(0, Math.max(slash, 0)));
  return parseCidr(`${address}/${value.slice(slash + 1).replace(/^0+(?=\d)/, '')}`) !== undefined;
}

/** Reports whether the text is an address, in any form. */
export const isAddress = (value: string): boolean =>
  parseIp(withoutLeadingZeros(value)) !== undefined;

const MAX_ADDRESS_LENGTH = 128;

/** Removes leading zeros of IPv4 octets. The groups of IPv6 addresses may have leading zeros. */
export const withoutLeadingZeros = (value: string): string =>
  // The expression takes quadratic time on long texts.
  value.length > MAX_ADDRESS_LENGTH
    ? value
    : value.replace(/[0-9]+(?:\.[0-9]+){3}$/, (octets) => octets.replace(/(^|\.)0+(?=\d)/g, '$1'));

const MAPPED = 0xffffn;

function isMapped(value: string): boolean {
  const address = parseIp(value);
  return address?.family === 'IPv6' && address.value >> 32n === MAPPED;
}
