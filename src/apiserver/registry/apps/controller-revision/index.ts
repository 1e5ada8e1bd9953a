// The resource controllerrevisions.

import { controllerRevisions } from '../../../../api/apps/v1/index.ts';
import { controllerRevisionTable } from '../../../printers/workloads.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import { controllerRevisionStrategy, type ControllerRevision } from './strategy.ts';

export function controllerRevisionResource(services: RegistryServices): ServedResource {
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
