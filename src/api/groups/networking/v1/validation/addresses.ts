// Validation of IP addresses and service ranges. Messages and paths are upstream's
// (pkg/apis/networking/validation).

import { deepEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';
import { formatIp, parseCidr, parseIp, type IpRange } from '#machinery/net/ip.ts';
import * as validation from '#machinery/validation/validation.ts';
import { immutable, invalidEach, isIPv6 } from '#api/groups/core/v1/validation/common.ts';
import { legacyCIDR, legacyIP } from '#api/groups/core/v1/validation/ip.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as networking from '../types.ts';

type IPAddress = Immutable<networking.IPAddress>;
type ServiceCIDR = Immutable<networking.ServiceCIDR>;

/** Returns the problems of the name, which is the address in its canonical form. */
export function ipAddressName(name: string): readonly string[] {
  const errors = legacyIP(name, field.path('metadata', 'name'));
  if (errors.length > 0) return errors.map(({ detail }) => detail);
  return canonicalForm(name, canonicalIP(name));
}

export function validateIPAddress({ spec: { parentRef } }: IPAddress): FieldErrorList {
  const at = field.path('spec', 'parentRef');
  if (parentRef === undefined) return [field.required(at)];
  const { group = '', resource = '', namespace = '', name = '' } = parentRef;
  return [
    ...(group === ''
      ? []
      : invalidEach(at.child('group'), group, validation.isDNS1123Subdomain(group))),
    ...(resource === ''
      ? [field.required(at.child('resource'))]
      : pathSegment(resource, at.child('resource'))),
    ...(name === '' ? [field.required(at.child('name'))] : pathSegment(name, at.child('name'))),
    ...(namespace === '' ? [] : pathSegment(namespace, at.child('namespace'))),
  ];
}

/** Validates a name that becomes a path segment. */
export function pathSegment(value: string, at: field.FieldPath): FieldErrorList {
  if (value === '.' || value === '..') return [field.invalid(at, value, `may not be '${value}'`)];
  return ['/', '%']
    .filter((part) => value.includes(part))
    .map((part) => field.invalid(at, value, `may not contain '${part}'`));
}

export function validateIPAddressUpdate(address: IPAddress, old: IPAddress): FieldErrorList {
  return immutable(
    address.spec.parentRef,
    old.spec.parentRef,
    field.path('spec', 'parentRef'),
    deepEqual,
  );
}

export function validateServiceCIDR({ spec: { cidrs = [] } }: ServiceCIDR): FieldErrorList {
  const at = field.path('spec', 'cidrs');
  if (cidrs.length === 0) return [field.required(at, 'at least one CIDR required')];
  // The value in upstream's message is its internal spec.
  if (cidrs.length > 2)
    return [field.invalid(at, { CIDRs: cidrs }, 'may only hold up to 2 values')];
  const errors = cidrs.flatMap((cidr, index) => {
    const errors = legacyCIDR(cidr, at.index(index));
    if (errors.length > 0) return errors;
    const [address, length] = cidr.split('/') as [string, string];
    return invalidEach(
      at.index(index),
      cidr,
      canonicalForm(cidr, `${canonicalIP(address)}/${length}`),
    );
  });
  // An invalid range has no family.
  const [first, second] = cidrs.map((cidr) =>
    sloppyRange(cidr) === undefined ? undefined : isIPv6(cidr),
  );
  if (cidrs.length === 2 && first !== undefined && first === second) {
    const message =
      'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';
    errors.push(field.invalid(at, cidrs, message));
  }
  return errors;
}

/** Validates an update: a range of the other family may be added, existing ones are immutable. */
export function validateServiceCIDRUpdate(range: ServiceCIDR, old: ServiceCIDR): FieldErrorList {
  const [cidrs, before] = [range.spec.cidrs ?? [], old.spec.cidrs ?? []];
  const at = field.path('spec', 'cidrs');
  if (before.length === cidrs.length) {
    return cidrs.flatMap((cidr, index) =>
      immutable(cidr, before[index], at.index(index), Object.is),
    );
  }
  if (before.length !== 1 || cidrs.length !== 2)
    return immutable(range.spec.cidrs, old.spec.cidrs, at, () => false);
  return [...immutable(cidrs[0], before[0], at.index(0), deepEqual), ...validateServiceCIDR(range)];
}

/** Parses a range and ignores leading zeros, which were accepted once. */
export const sloppyRange = (cidr: string): IpRange | undefined =>
  parseCidr(cidr.replace(/(^|[.:/])0+(?=\d)/g, '$1'));

function canonicalIP(address: string): string {
  const parsed = parseIp(address);
  return parsed === undefined ? address : formatIp(parsed);
}

function canonicalForm(value: string, canonical: string): readonly string[] {
  return value === canonical ? [] : [`must be in canonical form (${quote(canonical)})`];
}
