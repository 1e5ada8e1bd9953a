// The resource ingresses.

import { ingresses } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import {
  INGRESS_CLASS_ANNOTATION,
  validateIngressStatus,
  validateIngressUpdate,
  validateNewIngress,
} from '#api/groups/networking/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ingressTable } from '#apiserver/printers/networking.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type Ingress = Immutable<networking.Ingress>;

export const ingressStrategy: ResourceStrategy<Ingress> = {
  checksNameOnUpdate: true,
  generation: true,
  prepareForCreate: (ingress) => ({ ...ingress, status: { loadBalancer: {} } }),
  validate: (ingress) => validateNewIngress(ingress),
  warningsOnCreate: ({ metadata }) =>
    metadata.annotations?.[INGRESS_CLASS_ANNOTATION] === undefined
      ? []
      : [`annotation "${INGRESS_CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`],
  prepareForUpdate: (ingress, old) => ({ ...ingress, status: old.status }),
  validateUpdate: (ingress, old) => validateIngressUpdate(ingress, old),
};

export const ingressStatusStrategy: SubresourceStrategy<Ingress> = {
  prepareForUpdate: (ingress, old) => ({ ...ingress, spec: old.spec }),
  validateUpdate: (ingress, old) => validateIngressStatus(ingress, old),
};

export function ingressResource(services: RegistryServices): Kind {
  const store = new ResourceStore<Ingress>({ ...services, type: ingresses, strategy: ingressStrategy });
  const kind = { group: 'networking.k8s.io', version: 'v1', kind: 'Ingress' };
  return {
    type: ingresses,
    rest: store,
    table: ingressTable,
    subresources: [{ name: 'status', kind, rest: store.view(ingressStatusStrategy) }],
  };
}
