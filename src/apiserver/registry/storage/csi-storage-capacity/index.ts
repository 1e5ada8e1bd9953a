// The resource csistoragecapacities.

import type * as storage from '../../../../api/storage/v1/index.ts';
import { csiStorageCapacities } from '../../../../api/storage/v1/index.ts';
import { validateCSIStorageCapacity, validateCSIStorageCapacityUpdate } from '../../../../api/storage/v1/validation/index.ts';
import { csiStorageCapacityWarnings } from '../../../../api/storage/v1/warnings.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { csiStorageCapacityTable } from '../../../printers/volumes.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type CSIStorageCapacity = Immutable<storage.CSIStorageCapacity>;

export const csiStorageCapacityStrategy: ResourceStrategy<CSIStorageCapacity> = {
  checksNameOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate: (capacity) => validateCSIStorageCapacity(capacity),
  warningsOnCreate: (capacity) => csiStorageCapacityWarnings(capacity),
  validateUpdate: (capacity, old) => validateCSIStorageCapacityUpdate(capacity, old),
  warningsOnUpdate: (capacity) => csiStorageCapacityWarnings(capacity),
};

export function csiStorageCapacityResource(services: RegistryServices): ServedResource {
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
