// Defaults of the networking group, as Kubernetes documents them. A defaulter may change the object it is given: it is a fresh
// draft, straight from the decoder.

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

/** The defaulters of this group and version, by kind. Kinds without defaults have none. */
export const defaulters: Defaulters = {
  IngressClass: setIngressClassDefaults,
  NetworkPolicy: setNetworkPolicyDefaults,
};
