// The resource controllerrevisions.

import { controllerRevisions } from '#api/groups/apps/v1/index.ts';
import { controllerRevisionTable } from '#apiserver/printers/workloads.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { controllerRevisionStrategy, type ControllerRevision } from './strategy.ts';

export function controllerRevisionResource(services: RegistryServices): Kind {
  return {
    type: controllerRevisions,
    rest: new ResourceStore<ControllerRevision>({
      ...services,
      type: controllerRevisions,
      strategy: controllerRevisionStrategy,
    }),
    table: controllerRevisionTable,
  };
}
