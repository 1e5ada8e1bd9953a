// The resource runtimeclasses.

import { runtimeClasses } from '#api/groups/node/v1/index.ts';
import type * as node from '#api/groups/node/v1/index.ts';
import { validateRuntimeClass, validateRuntimeClassUpdate } from '#api/groups/node/v1/validation.ts';
import { runtimeClassWarnings } from '#api/groups/node/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { runtimeClassTable } from '#apiserver/printers/cluster-kinds.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type RuntimeClass = Immutable<node.RuntimeClass>;

export const runtimeClassStrategy: ResourceStrategy<RuntimeClass> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate: (runtimeClass) => validateRuntimeClass(runtimeClass),
  validateUpdate: (runtimeClass, old) => [
    ...validateRuntimeClass(runtimeClass),
    ...validateRuntimeClassUpdate(runtimeClass, old),
  ],
  warningsOnCreate: (runtimeClass) => runtimeClassWarnings(runtimeClass),
  warningsOnUpdate: (runtimeClass) => runtimeClassWarnings(runtimeClass),
};

export function runtimeClassResource(services: RegistryServices): Kind {
  return {
    type: runtimeClasses,
    rest: new ResourceStore<RuntimeClass>({ ...services, type: runtimeClasses, strategy: runtimeClassStrategy }),
    table: runtimeClassTable,
  };
}
