// The resource priorityclasses.

import { priorityClasses } from '#api/groups/scheduling/v1/index.ts';
import type * as scheduling from '#api/groups/scheduling/v1/index.ts';
import { SYSTEM_PRIORITY_CLASSES } from '#api/groups/scheduling/v1/system-classes.ts';
import { validatePriorityClass, validatePriorityClassUpdate } from '#api/groups/scheduling/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { priorityClassTable } from '#apiserver/printers/cluster-kinds.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type PriorityClass = Immutable<scheduling.PriorityClass>;

export const priorityClassStrategy: ResourceStrategy<PriorityClass> = {
  allowCreateOnUpdate: true,
  // It has one, which never changes.
  generation: () => false,
  validate: (priorityClass) => validatePriorityClass(priorityClass),
  validateUpdate: (priorityClass, old) => validatePriorityClassUpdate(priorityClass, old),
  validateDelete({ metadata: { name } }) {
    if (!SYSTEM_PRIORITY_CLASSES.some((system) => system.name === name)) return;
    throw apierrors.forbidden(priorityClasses, name, new Error('this is a system priority class and cannot be deleted'));
  },
};

export function priorityClassResource(services: RegistryServices): Kind {
  return {
    type: priorityClasses,
    rest: new ResourceStore<PriorityClass>({ ...services, type: priorityClasses, strategy: priorityClassStrategy }),
    table: priorityClassTable,
  };
}
