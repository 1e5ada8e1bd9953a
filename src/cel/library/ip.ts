// Addresses and networks: ip('10.0.0.1'), cidr('10.0.0.0/8'), isIP, isCIDR, containsIP …

import { sizeOf, traversal, traversesFirst } from '../cost.ts';
import { global, member, type CallCost, type Library } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import { BOOL, INT, opaque, STRING, typeOf, type Type } from '../types.ts';
import { OpaqueValue, TypeValue, type Value } from '../values.ts';
import {
  contains,
  formatAddress,
  formatPrefix,
  isMapped,
  maskAddress,
  parseAddress,
  parsePrefix,
  type Address,
  type Prefix,
} from './net-address.ts';

export const IP = opaque('net.IP');
export const CIDR = opaque('net.CIDR');

export class IPValue extends OpaqueValue {
  readonly address: Address;

  constructor(address: Address) {
    super();
    this.address = address;
  }

  get type(): Type {
    return IP;
  }

  equals(other: IPValue): boolean {
    return (
      this.address.family === other.address.family && this.address.value === other.address.value
    );
  }
}

export class CIDRValue extends OpaqueValue {
  readonly prefix: Prefix;

  constructor(prefix: Prefix) {
    super();
    this.prefix = prefix;
  }

  get type(): Type {
    return CIDR;
  }

  equals(other: CIDRValue): boolean {
    return (
      this.prefix.bits === other.prefix.bits &&
      new IPValue(this.prefix.address).equals(new IPValue(other.prefix.address))
    );
  }
}

/** Returns the reason why a text is not a valid address in expressions; undefined if it is one. */
function wrongAddress(text: string): string | undefined {
  if (text.includes('%') && text.includes(':'))
    return `IP address ${JSON.stringify(text)} with zone value is not allowed`;
  const address = parseAddress(text);
  if (address === undefined) {
    return (
      `IP Address ${JSON.stringify(text)} parse error during conversion from string: ` +
      `ParseAddr(${JSON.stringify(text)}): unable to parse IP`
    );
  }
  return isMapped(address)
    ? `IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`
    : undefined;
}

function parseIP(text: string): IPValue {
  const problem = wrongAddress(text);
  if (problem !== undefined) throw evaluationError(problem);
  return new IPValue(parseAddress(text)!);
}

function isCanonical(text: string): boolean {
  return formatAddress(parseIP(text).address) === text;
}

function tryCIDR(text: string): CIDRValue | undefined {
  const prefix = parsePrefix(text);
  return prefix === undefined || isMapped(prefix.address) ? undefined : new CIDRValue(prefix);
}

function parseCIDR(text: string): CIDRValue {
  const value = tryCIDR(text);
  if (value !== undefined) return value;
  const mapped = parsePrefix(text) !== undefined;
  const why = mapped
    ? `IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`
    : 'network address parse error during conversion from string: ' +
      `netip.ParsePrefix(${JSON.stringify(text)}): ` +
      (text.includes('/') ? 'unable to parse prefix' : "no '/'");
  throw evaluationError(`network address parse error during conversion from string: ${why}`);
}

const containsIP = (cidr: CIDRValue, ip: IPValue): boolean => contains(cidr.prefix, ip.address);
const containsCIDR = (cidr: CIDRValue, other: CIDRValue): boolean =>
  contains(cidr.prefix, other.prefix.address) && cidr.prefix.bits <= other.prefix.bits;

/** Returns a test whether an address is in the prefix. */
const within = (text: string): ((it: IPValue) => boolean) => {
  const prefix = parsePrefix(text)!;
  return (it) => contains(prefix, it.address);
};

/** Returns a test that depends on the address family. */
const either =
  (v4: (it: IPValue) => boolean, v6: (it: IPValue) => boolean) =>
  (it: IPValue): boolean =>
    it.address.family === 4 ? v4(it) : v6(it);

const isUnspecified = (it: IPValue): boolean => it.address.value === 0n;
const isLoopback = either(within('127.0.0.0/8'), within('::1/128'));
const isMulticast = either(within('224.0.0.0/4'), within('ff00::/8'));
const isLinkLocalUnicast = either(within('169.254.0.0/16'), within('fe80::/10'));
const isLinkLocalMulticast = either(
  within('224.0.0.0/24'),
  (it) => ((it.address.value >> 112n) & 0xff0fn) === 0xff02n,
);
const isGlobalUnicast = (it: IPValue): boolean =>
  !(isUnspecified(it) || isLoopback(it) || isMulticast(it) || isLinkLocalUnicast(it)) &&
  !(it.address.family === 4 && it.address.value === 0xffffffffn);

/** Returns the number of bytes of a prefix. */
const prefixBytes = (cidr: Value): number => Math.ceil((cidr as CIDRValue).prefix.bits / 8);
const comparesBytes: CallCost = ([cidr]) => traversal(2 * prefixBytes(cidr));
const comparesAndReads: CallCost = ([cidr, text]) =>
  traversal(2 * prefixBytes(cidr)) + traversal(sizeOf(text));
const comparesNetworks: CallCost = ([cidr]) =>
  traversal(2 * prefixBytes(cidr)) + traversal(prefixBytes(cidr)) + 1;
const comparesAndReadsNetworks: CallCost = ([cidr, text]) =>
  comparesNetworks([cidr], undefined) + traversal(sizeOf(text));

const typeConstant = (name: string, type: Type): Library['constants'] => ({
  [name]: { type: typeOf(type), value: new TypeValue(name) },
});

export const ipLibrary: Library = {
  name: 'net.ip',
  constants: { ...typeConstant('net.IP', IP), ...typeConstant('net.CIDR', CIDR) },
  functions: {
    ip: [
      global('string_to_ip', [STRING], IP, parseIP, traversesFirst),
      member('cidr_ip', [CIDR], IP, (it: CIDRValue) => new IPValue(it.prefix.address)),
    ],
    isIP: [
      global(
        'is_ip',
        [STRING],
        BOOL,
        (text: string) => wrongAddress(text) === undefined,
        traversesFirst,
      ),
    ],
    'ip.isCanonical': [
      global('ip_is_canonical', [STRING], BOOL, isCanonical, (args) =>
        traversal(2 * sizeOf(args[0])),
      ),
    ],
    family: [member('ip_family', [IP], INT, (it: IPValue) => it.address.family)],
    isUnspecified: [member('ip_is_unspecified', [IP], BOOL, isUnspecified)],
    isLoopback: [member('ip_is_loopback', [IP], BOOL, isLoopback)],
    isLinkLocalMulticast: [member('ip_is_link_local_multicast', [IP], BOOL, isLinkLocalMulticast)],
    isLinkLocalUnicast: [member('ip_is_link_local_unicast', [IP], BOOL, isLinkLocalUnicast)],
    isGlobalUnicast: [member('ip_is_global_unicast', [IP], BOOL, isGlobalUnicast)],
    cidr: [global('string_to_cidr', [STRING], CIDR, parseCIDR, traversesFirst)],
    isCIDR: [
      global(
        'is_cidr',
        [STRING],
        BOOL,
        (text: string) => tryCIDR(text) !== undefined,
        traversesFirst,
      ),
    ],
    containsIP: [
      member(
        'cidr_contains_ip_string',
        [CIDR, STRING],
        BOOL,
        (a: CIDRValue, b: string) => containsIP(a, parseIP(b)),
        comparesAndReads,
      ),
      member('cidr_contains_ip_ip', [CIDR, IP], BOOL, containsIP, comparesBytes),
    ],
    containsCIDR: [
      member(
        'cidr_contains_cidr_string',
        [CIDR, STRING],
        BOOL,
        (a: CIDRValue, b: string) => containsCIDR(a, parseCIDR(b)),
        comparesAndReadsNetworks,
      ),
      member('cidr_contains_cidr', [CIDR, CIDR], BOOL, containsCIDR, comparesNetworks),
    ],
    prefixLength: [member('cidr_prefix_length', [CIDR], INT, (it: CIDRValue) => it.prefix.bits)],
    masked: [
      member(
        'cidr_masked',
        [CIDR],
        CIDR,
        ({ prefix }: CIDRValue) =>
          new CIDRValue({ ...prefix, address: maskAddress(prefix.address, prefix.bits) }),
      ),
    ],
    string: [
      global('ip_to_string', [IP], STRING, (it: IPValue) => formatAddress(it.address)),
      global('cidr_to_string', [CIDR], STRING, (it: CIDRValue) => formatPrefix(it.prefix)),
    ],
  },
};
