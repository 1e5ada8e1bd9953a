// Warnings about fields of services that are ignored or deprecated.

import { warningsForCIDR, warningsForIP } from '#api/groups/core/v1/ip-warnings.ts';
import * as field from '#machinery/validation/field.ts';
import type { Service } from './service.ts';

const TOPOLOGY_HINTS = 'service.kubernetes.io/topology-aware-hints';
const TOPOLOGY_MODE = 'service.kubernetes.io/topology-mode';

export function serviceWarnings({ metadata, spec }: Service): string[] {
  const warnings: string[] = [];
  if (metadata.annotations?.[TOPOLOGY_HINTS] !== undefined) {
    warnings.push(
      `annotation ${TOPOLOGY_HINTS} is deprecated, please use ${TOPOLOGY_MODE} instead`,
    );
  }
  const at = field.path('spec');
  (spec.clusterIPs ?? []).forEach((address, index) =>
    warnings.push(...warningsForIP(at.child('clusterIPs').index(index), address)),
  );
  const hasExternalIPs = (spec.externalIPs ?? []).length > 0;
  const isExternalName = spec.type === 'ExternalName';
  if (!isExternalName && spec.clusterIP === 'None') {
    const ignored = 'is ignored for headless services';
    if ((spec.loadBalancerIP ?? '') !== '') warnings.push(`spec.loadBalancerIP ${ignored}`);
    if (hasExternalIPs) warnings.push(`spec.externalIPs ${ignored}`);
    if (spec.sessionAffinity !== 'None') warnings.push(`spec.SessionAffinity ${ignored}`);
  }
  (spec.externalIPs ?? []).forEach((address, index) =>
    warnings.push(...warningsForIP(at.child('externalIPs').index(index), address)),
  );
  if (hasExternalIPs && !isExternalName && spec.clusterIP !== 'None') {
    warnings.push(
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    );
  }
  if ((spec.loadBalancerIP ?? '') !== '')
    warnings.push(...warningsForIP(at.child('loadBalancerIP'), spec.loadBalancerIP ?? ''));
  (spec.loadBalancerSourceRanges ?? []).forEach((range, index) =>
    warnings.push(...warningsForCIDR(at.child('loadBalancerSourceRanges').index(index), range)),
  );
  if (hasExternalIPs && isExternalName)
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!isExternalName && (spec.externalName ?? '') !== '') {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (spec.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
}

/** Returns the warnings about a status. The paths are those of the ingress points, as upstream. */
export function serviceStatusWarnings({ status }: Service): string[] {
  const at = field.path('status', 'loadBalancer', 'ingress');
  return (status.loadBalancer.ingress ?? []).flatMap(({ ip = '' }, index) =>
    warningsForIP(at.index(index), ip),
  );
}
