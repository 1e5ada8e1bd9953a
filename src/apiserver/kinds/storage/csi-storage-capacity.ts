// The resource csistoragecapacities.

import type * as storage from '#api/groups/storage/v1/index.ts';
import { csiStorageCapacities } from '#api/groups/storage/v1/index.ts';
import { validateCSIStorageCapacity, validateCSIStorageCapacityUpdate } from '#api/groups/storage/v1/validation/index.ts';
import { csiStorageCapacityWarnings } from '#api/groups/storage/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { csiStorageCapacityTable } from '#apiserver/printers/volumes.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type CSIStorageCapacity = Immutable<storage.CSIStorageCapacity>;

export const csiStorageCapacityStrategy: ResourceStrategy<CSIStorageCapacity> = {
  checksNameOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate: (capacity) => validateCSIStorageCapacity(capacity),
  warningsOnCreate: (capacity) => csiStorageCapacityWarnings(capacity),
  validateUpdate: (capacity, old) => validateCSIStorageCapacityUpdate(capacity, old),
  warningsOnUpdate: (capacity) => csiStorageCapacityWarnings(capacity),
};

export function csiStorageCapacityResource(services: RegistryServices): Kind {
  return {
    type: csiStorageCapacities,
    rest: new ResourceStore<CSIStorageCapacity>({
      ...services,
      type: csiStorageCapacities,
      strategy: csiStorageCapacityStrategy,
    }),
    table: csiStorageCapacityTable,
  };
}
