// The resource ingressclasses.

import { ingressClasses } from '../../../../api/networking/v1/index.ts';
import type * as networking from '../../../../api/networking/v1/index.ts';
import { validateIngressClass, validateIngressClassUpdate } from '../../../../api/networking/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { ingressClassTable } from '../../../printers/cluster-kinds.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type IngressClass = Immutable<networking.IngressClass>;

export const ingressClassStrategy: ResourceStrategy<IngressClass> = {
  checksNameOnUpdate: true,
  generation: true,
  validate: (ingressClass) => validateIngressClass(ingressClass),
  validateUpdate: (ingressClass, old) => validateIngressClassUpdate(ingressClass, old),
};

export function ingressClassResource(services: RegistryServices): ServedResource {
  return {
    type: ingressClasses,
    rest: new ResourceStore<IngressClass>({ ...services, type: ingressClasses, strategy: ingressClassStrategy }),
    table: ingressClassTable,
  };
}
