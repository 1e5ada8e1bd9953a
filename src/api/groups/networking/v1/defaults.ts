// Defaults of the networking group, as Kubernetes documents them. A defaulter may modify its
// object, which was just decoded.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { IngressClass, NetworkPolicy } from './types.ts';

function setNetworkPolicyDefaults({ spec }: NetworkPolicy): void {
  for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
    for (const port of rule.ports ?? []) port.protocol ??= 'TCP';
  }
  if ((spec.policyTypes ?? []).length === 0) {
    spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
  }
}

function setIngressClassDefaults({ spec: { parameters } }: IngressClass): void {
  if (parameters !== undefined) parameters.scope ??= 'Cluster';
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  IngressClass: setIngressClassDefaults,
  NetworkPolicy: setNetworkPolicyDefaults,
};
