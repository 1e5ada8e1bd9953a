// The resources of the group networking.k8s.io.

import type { ServedResource } from '../rest.ts';
import type { RegistryServices } from '../services.ts';
import { ingressClassResource } from './ingress-class/index.ts';
import { ingressResource } from './ingress/index.ts';
import { ipAddressResource } from './ip-address/index.ts';
import { networkPolicyResource } from './network-policy/index.ts';
import { serviceCidrResource } from './service-cidr/index.ts';

export function networkingResources(services: RegistryServices): readonly ServedResource[] {
  return [
    ingressClassResource(services),
    ingressResource(services),
    ipAddressResource(services),
    networkPolicyResource(services),
    serviceCidrResource(services),
  ];
}
