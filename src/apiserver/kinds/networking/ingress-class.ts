// The resource ingressclasses.

import { ingressClasses } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import { validateIngressClass, validateIngressClassUpdate } from '#api/groups/networking/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ingressClassTable } from '#apiserver/printers/cluster-kinds.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type IngressClass = Immutable<networking.IngressClass>;

export const ingressClassStrategy: ResourceStrategy<IngressClass> = {
  checksNameOnUpdate: true,
  generation: true,
  validate: (ingressClass) => validateIngressClass(ingressClass),
  validateUpdate: (ingressClass, old) => validateIngressClassUpdate(ingressClass, old),
};

export function ingressClassResource(services: RegistryServices): Kind {
  return {
    type: ingressClasses,
    rest: new ResourceStore<IngressClass>({ ...services, type: ingressClasses, strategy: ingressClassStrategy }),
    table: ingressClassTable,
  };
}
