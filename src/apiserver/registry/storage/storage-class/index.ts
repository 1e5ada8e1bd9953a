// The resource storageclasses.

import type * as storage from '../../../../api/storage/v1/index.ts';
import { storageClasses } from '../../../../api/storage/v1/index.ts';
import { validateStorageClass, validateStorageClassUpdate } from '../../../../api/storage/v1/validation/index.ts';
import { storageClassWarnings } from '../../../../api/storage/v1/warnings.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { storageClassTable } from '../../../printers/volumes.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

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

export function storageClassResource(services: RegistryServices): ServedResource {
  return {
    type: storageClasses,
    rest: new ResourceStore<StorageClass>({ ...services, type: storageClasses, strategy: storageClassStrategy }),
    table: storageClassTable,
  };
}
