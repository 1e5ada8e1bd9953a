// The resource storageclasses.

import type * as storage from '#api/groups/storage/v1/index.ts';
import { storageClasses } from '#api/groups/storage/v1/index.ts';
import { validateStorageClass, validateStorageClassUpdate } from '#api/groups/storage/v1/validation/index.ts';
import { storageClassWarnings } from '#api/groups/storage/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { storageClassTable } from '#apiserver/printers/volumes.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type StorageClass = Immutable<storage.StorageClass>;

export const storageClassStrategy: ResourceStrategy<StorageClass> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  validate: (storageClass) => validateStorageClass(storageClass),
  warningsOnCreate: (storageClass) => storageClassWarnings(storageClass),
  validateUpdate: (storageClass, old) => [
    ...validateStorageClass(storageClass),
    ...validateStorageClassUpdate(storageClass, old),
  ],
  warningsOnUpdate: (storageClass) => storageClassWarnings(storageClass),
};

export function storageClassResource(services: RegistryServices): Kind {
  return {
    type: storageClasses,
    rest: new ResourceStore<StorageClass>({ ...services, type: storageClasses, strategy: storageClassStrategy }),
    table: storageClassTable,
  };
}
