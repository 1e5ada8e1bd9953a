// The resource configmaps.

import { configMaps } from '#api/groups/core/v1/index.ts';
import { configMapTable } from '#apiserver/printers/small-kinds.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { configMapStrategy } from './strategy.ts';

export function configMapResource(services: RegistryServices): Kind {
  return {
    type: configMaps,
    rest: new ResourceStore({ ...services, type: configMaps, strategy: configMapStrategy }),
    table: configMapTable,
  };
}
