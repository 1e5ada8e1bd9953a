// Determines the IP families of a service, which must be families of the cluster. Only a headless
// service without a selector, whose endpoints are maintained elsewhere, may have others.

import { validateServiceAddresses } from '#api/groups/core/v1/validation/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import { sameList, type Service, type ServiceSpec } from './service.ts';

type Family = NonNullable<ServiceSpec['ipFamilies']>[number];

const SPEC = field.path('spec');
const POLICY = SPEC.child('ipFamilyPolicy');

/**
 * Completes ipFamilies and ipFamilyPolicy. Throws Invalid for impossible values. `configured`: the
 * cluster's families, one or both, with the default first.
 */
export function withFamilies(
  service: Service,
  old: Service | undefined,
  configured: readonly Family[],
): Service {
  const [standard = 'IPv4'] = configured;
  if (service.spec.type === 'ExternalName' || (old !== undefined && prefersAsBefore(service, old)))
    return service;
  const isHeadlessWithoutSelector =
    service.spec.clusterIP === 'None' && Object.keys(service.spec.selector ?? {}).length === 0;
  const ipFamilyPolicy =
    service.spec.ipFamilyPolicy ??
    old?.spec.ipFamilyPolicy ??
    (isHeadlessWithoutSelector ? 'RequireDualStack' : 'SingleStack');
  let spec: ServiceSpec = { ...service.spec, ipFamilyPolicy };
  refuse(service, validateServiceAddresses({ ...service, spec }));

  const errors: FieldErrorList = [];
  if (old !== undefined && ipFamilyPolicy === 'SingleStack') spec = withoutSecond(spec, old.spec);
  if (old !== undefined && ipFamilyPolicy !== 'SingleStack')
    errors.push(...reductions(spec, old.spec));
  if (ipFamilyPolicy === 'SingleStack') errors.push(...twoOfOne(spec));
  const inferred = inferFamilies(spec, configured);
  errors.push(...inferred.errors);
  refuse(service, errors);

  let { ipFamilies } = inferred;
  if (isHeadlessWithoutSelector) {
    const first = ipFamilies[0] ?? standard;
    if (ipFamilies.length < 2) {
      ipFamilies = ipFamilyPolicy === 'SingleStack' ? [first] : [first, otherFamily(first)];
    }
    return { ...service, spec: { ...spec, ipFamilies } };
  }
  if (ipFamilyPolicy === 'RequireDualStack' && configured.length < 2) {
    errors.push(
      field.invalid(
        POLICY,
        ipFamilyPolicy,
        'this cluster is not configured for dual-stack services',
      ),
    );
  }
  ipFamilies.forEach((family, index) => {
    if (configured.includes(family)) return;
    errors.push(
      field.invalid(
        SPEC.child('ipFamilies').index(index),
        family,
        'not configured on this cluster',
      ),
    );
  });
  refuse(service, errors);
  if (ipFamilies.length === 0) ipFamilies = [standard];
  const [only = standard] = ipFamilies;
  const both =
    ipFamilyPolicy !== 'SingleStack' && ipFamilies.length === 1 && configured.length === 2;
  return {
    ...service,
    spec: { ...spec, ipFamilies: both ? [only, otherFamily(only)] : ipFamilies },
  };
}

export function otherFamily(family: Family): Family {
  return family === 'IPv4' ? 'IPv6' : 'IPv4';
}

function refuse(service: Service, errors: FieldErrorList): void {
  if (errors.length > 0)
    throw apierrors.invalid({ group: '', kind: 'Service' }, service.metadata.name, errors);
}

/** Reports whether a service with PreferDualStack is unchanged. Then its families stay the same. */
function prefersAsBefore({ spec }: Service, { spec: old }: Service): boolean {
  return (
    spec.ipFamilyPolicy === 'PreferDualStack' &&
    (old.ipFamilyPolicy ?? 'PreferDualStack') === 'PreferDualStack' &&
    spec.type === old.type &&
    sameList(spec.clusterIPs, old.clusterIPs) &&
    sameList(spec.ipFamilies, old.ipFamilies)
  );
}

/**
 * Returns the spec without the second family and address, which a client need not remove itself
 * when it requests SingleStack.
 */
function withoutSecond(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const { clusterIPs, ipFamilies } = spec;
  return {
    ...spec,
    ...(clusterIPs !== undefined && {
      clusterIPs: sameList(clusterIPs, old.clusterIPs) ? clusterIPs.slice(0, 1) : clusterIPs,
    }),
    ...(ipFamilies !== undefined && {
      ipFamilies: sameList(ipFamilies, old.ipFamilies) ? ipFamilies.slice(0, 1) : ipFamilies,
    }),
  };
}

function reductions(spec: ServiceSpec, old: ServiceSpec): FieldErrorList {
  const reduced = (name: 'clusterIPs' | 'ipFamilies'): boolean =>
    (spec[name] ?? []).length > 0 && (spec[name] ?? []).length < (old[name] ?? []).length;
  const refused = (what: string) =>
    field.invalid(
      POLICY,
      spec.ipFamilyPolicy,
      `must be 'SingleStack' to release the secondary ${what}`,
    );
  return [
    ...(reduced('clusterIPs') ? [refused('cluster IP')] : []),
    ...(reduced('ipFamilies') ? [refused('IP family')] : []),
  ];
}

function twoOfOne(spec: ServiceSpec): FieldErrorList {
  const refused = (what: string) =>
    field.invalid(
      POLICY,
      spec.ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    );
  return [
    ...((spec.clusterIPs ?? []).length === 2 ? [refused('cluster IPs')] : []),
    ...((spec.ipFamilies ?? []).length === 2 ? [refused('IP families')] : []),
  ];
}

/** Infers the families from the addresses. */
function inferFamilies(
  { clusterIPs = [], ipFamilies = [] }: ServiceSpec,
  configured: readonly Family[],
): { ipFamilies: readonly Family[]; errors: FieldErrorList } {
  const families = [...ipFamilies];
  const errors: FieldErrorList = [];
  clusterIPs.forEach((address, index) => {
    if (address === 'None' || index < families.length) return;
    const family = address.includes(':') ? 'IPv6' : 'IPv4';
    if (configured.includes(family)) families.push(family);
    else {
      const at = SPEC.child('clusterIPs').index(index);
      errors.push(field.invalid(at, clusterIPs, `${family} is not configured on this cluster`));
    }
  });
  return { ipFamilies: families, errors };
}
