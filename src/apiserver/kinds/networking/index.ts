// The resources of the group networking.k8s.io.

import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { ingressClassResource } from './ingress-class.ts';
import { ingressResource } from './ingress.ts';
import { ipAddressResource } from './ip-address.ts';
import { networkPolicyResource } from './network-policy.ts';
import { serviceCidrResource } from './service-cidr.ts';

export function networkingResources(services: RegistryServices): readonly Kind[] {
  return [
    ingressClassResource(services),
    ingressResource(services),
    ipAddressResource(services),
    networkPolicyResource(services),
    serviceCidrResource(services),
  ];
}
