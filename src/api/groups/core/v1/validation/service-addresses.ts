// Validation of service addresses: clusterIP and clusterIPs, their families, and their updates.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import type { Service } from './types.ts';
import { isIPv6, optionalOneOf } from './common.ts';
import { legacyIP } from './ip.ts';

const SPEC = new field.FieldPath('spec');
const ADDRESSES = SPEC.child('clusterIPs');
const FAMILIES = SPEC.child('ipFamilies');
const FAMILY_POLICY = SPEC.child('ipFamilyPolicy');
const FAMILY_POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];
const FOR_EVER = 'may not change once set';

export function isHeadless({ spec }: Service): boolean {
  return spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === 'None';
}

export function clusterAddresses(service: Service, old?: Service): FieldErrorList {
  const { spec } = service;
  if (spec.type === 'ExternalName') return [];
  const { clusterIP = '', clusterIPs = [], ipFamilies = [] } = spec;
  const errors: FieldErrorList = [];
  if (clusterIP === '') {
    if (clusterIPs.length > 0) {
      errors.push(
        field.invalid(ADDRESSES, clusterIPs, 'must be empty when `clusterIP` is not specified'),
      );
    }
  } else if (clusterIPs.length === 0) errors.push(field.required(ADDRESSES));
  else if (clusterIPs[0] !== clusterIP) {
    errors.push(field.invalid(ADDRESSES, clusterIPs, 'first value must match `clusterIP`'));
  }
  ipFamilies.forEach((family, index) => {
    errors.push(...optionalOneOf(family, ['IPv4', 'IPv6'], FAMILIES.index(index)));
    if (ipFamilies.indexOf(family) < index)
      errors.push(field.duplicate(FAMILIES.index(index), family));
  });
  errors.push(...optionalOneOf(spec.ipFamilyPolicy, FAMILY_POLICIES, FAMILY_POLICY));

  const forms = clusterIPs.flatMap((address, index) => {
    if (index > 0 || address !== 'None')
      return legacyIP(address, ADDRESSES.index(index), old?.spec.clusterIPs);
    return clusterIPs.length > 1
      ? [field.invalid(ADDRESSES, clusterIPs, "'None' must be the first and only value")]
      : [];
  });
  errors.push(...forms);
  if (clusterIPs.length > 2)
    errors.push(field.invalid(ADDRESSES, clusterIPs, 'may only hold up to 2 values'));
  // Further errors of invalid addresses would only confuse.
  if (forms.length > 0) return errors;
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(isIPv6)).size < 2) {
    errors.push(
      field.invalid(ADDRESSES, clusterIPs, 'may specify no more than one IP for each IP family'),
    );
  }
  if (isHeadless(service)) return errors;
  clusterIPs.forEach((address, index) => {
    const family = ipFamilies[index];
    if ((family !== 'IPv4' && family !== 'IPv6') || isIPv6(address) === (family === 'IPv6')) return;
    const message = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
    errors.push(field.invalid(ADDRESSES.index(index), address, message));
  });
  return errors;
}

/**
 * Validates an update of addresses. A second one may be added and removed. The first does not
 * change, except with a type from or to ExternalName.
 */
export function clusterAddressesUpdate(service: Service, old: Service): FieldErrorList {
  if (service.spec.type === 'ExternalName' || old.spec.type === 'ExternalName') return [];
  const headless = isHeadless(service);
  const wasHeadless = isHeadless(old);
  const errors = headless && wasHeadless ? [] : addressesUpdate(service, old);
  if (!headless && !wasHeadless) errors.push(...familiesUpdate(service, old));
  return errors;
}

function addressesUpdate({ spec }: Service, { spec: old }: Service): FieldErrorList {
  const after = spec.clusterIPs ?? [];
  const before = old.clusterIPs ?? [];
  const errors: FieldErrorList = [];
  const checked =
    after.length === before.length ? before.length : Math.min(1, after.length, before.length);
  for (let index = 0; index < checked; index++) {
    if (after[index] !== before[index])
      errors.push(field.invalid(ADDRESSES.index(index), after, FOR_EVER));
  }
  if (after.length >= before.length) return errors;
  if (after.length === 0)
    errors.push(field.invalid(ADDRESSES.index(0), after, 'primary clusterIP can not be unset'));
  else if (spec.ipFamilyPolicy !== 'SingleStack') {
    const message = "must be set to 'SingleStack' when releasing the secondary clusterIP";
    errors.push(field.invalid(FAMILY_POLICY, spec.ipFamilyPolicy ?? null, message));
  }
  return errors;
}

function familiesUpdate({ spec }: Service, { spec: old }: Service): FieldErrorList {
  const after = spec.ipFamilies ?? [];
  const before = old.ipFamilies ?? [];
  const errors: FieldErrorList = [];
  const checked =
    after.length === before.length ? before.length : Math.min(1, after.length, before.length);
  for (let index = 0; index < checked; index++) {
    if (after[index] !== before[index])
      errors.push(field.invalid(FAMILIES.index(0), after, FOR_EVER));
  }
  if (after.length >= before.length) return errors;
  if ((spec.clusterIPs ?? []).length === 0) {
    errors.push(field.invalid(FAMILIES.index(0), after, 'primary ipFamily can not be unset'));
  }
  if (after.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') {
    const message = "must be set to 'SingleStack' when releasing the secondary ipFamily";
    errors.push(field.invalid(FAMILY_POLICY, spec.ipFamilyPolicy ?? null, message));
  }
  return errors;
}

const SPECIAL: readonly (readonly [pattern: RegExp, message: (address: string) => string])[] = [
  [/^(0\.0\.0\.0|[0:]*::?0*)$/, (address) => `may not be unspecified (${address})`],
  [/^(127\.|(0*:)*:?0*:0*1$)/, () => 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [
    /^(169\.254\.|fe[89ab][0-9a-f]:)/i,
    () => 'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  ],
  [
    /^(224\.0\.0\.|ff[0-9a-f]2:)/i,
    () => 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  ],
];

/** Validates that the address is not special, such as loopback. `address` is valid. */
export function nonSpecialIP(address: string, at: FieldPath): FieldErrorList {
  return SPECIAL.filter(([pattern]) => pattern.test(address)).map(([, message]) =>
    field.invalid(at, address, message(address)),
  );
}
