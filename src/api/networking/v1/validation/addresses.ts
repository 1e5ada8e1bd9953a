// Rules of IP addresses and service ranges. Messages and paths are Kubernetes' own (pkg/apis/networking/validation).

import { deepEqual } from '../../../../machinery/deep.ts';
import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList } from '../../../../machinery/field.ts';
import * as validation from '../../../../machinery/validation.ts';
import { immutable, invalidEach, isIPv6 } from '../../../core/v1/validation/common.ts';
import type { Immutable } from '../../../meta/v1/index.ts';
import type * as networking from '../types.ts';

type IPAddress = Immutable<networking.IPAddress>;
type ServiceCIDR = Immutable<networking.ServiceCIDR>;

/** The name is the address, in its canonical form. */
export function ipAddressName(name: string): readonly string[] {
  const problems = validation.isValidIP(name);
  if (problems.length > 0) return problems;
  const canonical = isIPv6(name) ? new URL(`http://[${name}]`).hostname.slice(1, -1) : name;
  return canonical === name ? [] : [`must be in canonical form ("${canonical}")`];
}

export function validateIPAddress({ spec: { parentRef } }: IPAddress): FieldErrorList {
  const at = field.path('spec', 'parentRef');
  if (parentRef === undefined) return [field.required(at)];
  const { group = '', resource = '', namespace = '', name = '' } = parentRef;
  return [
    ...(group === '' ? [] : invalidEach(at.child('group'), group, validation.isDNS1123Subdomain(group))),
    ...(resource === '' ? [field.required(at.child('resource'))] : pathSegment(resource, at.child('resource'))),
    ...(namespace === '' ? [] : pathSegment(namespace, at.child('namespace'))),
    ...(name === '' ? [field.required(at.child('name'))] : pathSegment(name, at.child('name'))),
  ];
}

/** A name that can be a part of a path. */
export function pathSegment(value: string, at: field.FieldPath): FieldErrorList {
  if (value === '.' || value === '..') return [field.invalid(at, value, `may not be '${value}'`)];
  return ['/', '%'].filter((part) => value.includes(part)).map((part) => field.invalid(at, value, `may not contain '${part}'`));
}

export function validateIPAddressUpdate(address: IPAddress, old: IPAddress): FieldErrorList {
  return immutable(address.spec.parentRef, old.spec.parentRef, field.path('spec', 'parentRef'), deepEqual);
}

export function validateServiceCIDR({ spec: { cidrs = [] } }: ServiceCIDR): FieldErrorList {
  const at = field.path('spec', 'cidrs');
  if (cidrs.length === 0) return [field.required(at, 'at least one CIDR required')];
  const errors: FieldErrorList = [];
  if (cidrs.length > 2) errors.push(field.invalid(at, cidrs, 'may only hold up to 2 values'));
  else if (cidrs.length === 2 && isIPv6(cidrs[0] as string) === isIPv6(cidrs[1] as string)) {
    errors.push(
      field.invalid(at, cidrs, 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'),
    );
  }
  cidrs.forEach((cidr, index) => errors.push(...invalidEach(at.index(index), cidr, validation.isValidCIDR(cidr))));
  return errors;
}

/** A range may get one of the other family; what is there stays. */
export function validateServiceCIDRUpdate({ spec }: ServiceCIDR, old: ServiceCIDR): FieldErrorList {
  const [cidrs, before] = [spec.cidrs ?? [], old.spec.cidrs ?? []];
  const at = field.path('spec', 'cidrs');
  if (before.length === 1 && cidrs.length === 2) {
    return cidrs[0] === before[0]
      ? validateServiceCIDR({ spec } as ServiceCIDR)
      : [field.invalid(at.index(0), cidrs[0], 'field is immutable')];
  }
  return immutable(cidrs, before, at, deepEqual);
}
