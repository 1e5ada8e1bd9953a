// Warnings about addresses and ranges that are accepted for compatibility only.

import { isIP, isIPv4 } from 'node:net';
import type { FieldPath } from '#machinery/validation/field.ts';
import { withoutLeadingZeros } from './validation/ip.ts';

/**
 * Returns warnings. `value`: an address that is or was valid; there is no warning for other texts.
 */
export function warningsForIP(at: FieldPath, value: string): string[] {
  // IPv4 has a unique form.
  if (isIPv4(value)) return [];
  const standard = withoutLeadingZeros(value);
  if (isIP(standard) === 0 || standard.includes('%')) return [];
  const canonical = canonicalIP(standard);
  const mapped = mappedIPv4(canonical);
  if (mapped !== undefined || standard !== value) {
    return [`${at.toString()}: ${nonStandard('IP address', value, mapped ?? canonical)}`];
  }
  return canonical === value
    ? []
    : [
        `${at.toString()}: IPv6 address "${value}" should be in RFC 5952 canonical format ("${canonical}")`,
      ];
}

/** Returns warnings. `value`: a range that is or was valid; there is no warning for other texts. */
export function warningsForCIDR(at: FieldPath, value: string): string[] {
  const [addressText = '', givenLength = ''] = value.split('/');
  const address = withoutLeadingZeros(addressText);
  if (isIP(address) === 0 || address.includes('%') || !/^[0-9]+$/.test(givenLength)) return [];
  const length = String(Number(givenLength));
  const canonical = canonicalIP(address);
  const network = isIPv4(address)
    ? networkOf(address.split('.'), 10, 8, Number(length)).join('.')
    : networkOfIPv6(canonical, length);
  const mapped = mappedIPv4(canonical);
  const mappedNetwork = mappedIPv4(network);
  const better =
    mappedNetwork === undefined
      ? `${network}/${length}`
      : `${mappedNetwork}/${Number(length) - 96}`;
  const warnings: string[] = [];
  if (network !== canonical) {
    const single = `${mapped ?? canonical}/${isIPv4(address) ? 32 : 128}`;
    warnings.push(
      `${at.toString()}: CIDR value "${value}" is ambiguous in this context (should be "${better}" or "${single}"?)`,
    );
  }
  if (mapped !== undefined || address !== addressText || length !== givenLength) {
    warnings.push(`${at.toString()}: ${nonStandard('CIDR value', value, better)}`);
  }
  if (warnings.length === 0 && canonical !== address) {
    warnings.push(
      `${at.toString()}: IPv6 CIDR value "${value}" should be in RFC 5952 canonical format ("${canonical}/${length}")`,
    );
  }
  return warnings;
}

const nonStandard = (what: string, value: string, better: string): string =>
  `non-standard ${what} "${value}" is invalid: use "${better}"`;

const canonicalIP = (address: string): string =>
  isIPv4(address) ? address : canonicalIPv6(address);

/** Returns the form of RFC 5952, except for IPv4-mapped addresses. */
function canonicalIPv6(value: string): string {
  return new URL(`http://[${value}]`).hostname.slice(1, -1);
}

/** Returns the IPv4 address that a canonical IPv6 address contains. */
function mappedIPv4(canonical: string): string | undefined {
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical) ?? [];
  if (high === undefined || low === undefined) return undefined;
  return [high, low]
    .flatMap((part) => [parseInt(part, 16) >> 8, parseInt(part, 16) & 255])
    .join('.');
}

function networkOfIPv6(canonical: string, length: string): string {
  const [head = '', tail] = canonical.split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const parts = [
    ...before,
    ...Array.from({ length: 8 - before.length - after.length }, () => '0'),
    ...after,
  ];
  return canonicalIPv6(
    networkOf(parts, 16, 16, Number(length))
      .map((part) => part.toString(16))
      .join(':'),
  );
}

/** Returns the parts, of `bits` bits each. The parts after the prefix become zero. */
function networkOf(
  parts: readonly string[],
  radix: number,
  bits: number,
  prefix: number,
): number[] {
  return parts.map((part, index) => {
    const free = Math.min(Math.max((index + 1) * bits - prefix, 0), bits);
    const number = parseInt(part, radix);
    return number - (number % 2 ** free);
  });
}
