// The resource csistoragecapacities.

import { csiStorageCapacities } from '#api/groups/storage/v1/index.ts';
import type * as storage from '#api/groups/storage/v1/index.ts';
import {
  validateCSIStorageCapacity,
  validateCSIStorageCapacityUpdate,
} from '#api/groups/storage/v1/validation/index.ts';
import { csiStorageCapacityWarnings } from '#api/groups/storage/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type CSIStorageCapacity = Immutable<storage.CSIStorageCapacity>;

const csiStorageCapacityStrategy: ResourceStrategy<CSIStorageCapacity> = {
  checksNameOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate: (capacity) => validateCSIStorageCapacity(capacity),
  warningsOnCreate: (capacity) => csiStorageCapacityWarnings(capacity),
  validateUpdate: (capacity, old) => validateCSIStorageCapacityUpdate(capacity, old),
  warningsOnUpdate: (capacity) => csiStorageCapacityWarnings(capacity),
};

export const csiStorageCapacityKind = defineKind<CSIStorageCapacity>({
  type: csiStorageCapacities,
  strategy: csiStorageCapacityStrategy,
});
