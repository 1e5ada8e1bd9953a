// The resource configmaps.

import { configMaps } from '../../../../api/core/v1/index.ts';
import { configMapTable } from '../../../printers/small-kinds.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import { configMapStrategy } from './strategy.ts';

export function configMapResource(services: RegistryServices): ServedResource {
  return {
    type: configMaps,
    rest: new ResourceStore({ ...services, type: configMaps, strategy: configMapStrategy }),
    table: configMapTable,
  };
}
