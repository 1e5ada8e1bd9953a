// The resource storageclasses.

import { storageClasses } from '#api/groups/storage/v1/index.ts';
import type * as storage from '#api/groups/storage/v1/index.ts';
import {
  validateStorageClass,
  validateStorageClassUpdate,
} from '#api/groups/storage/v1/validation/index.ts';
import { storageClassWarnings } from '#api/groups/storage/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { markedName } from './default-class.ts';

type StorageClass = Immutable<storage.StorageClass>;

const storageClassStrategy: ResourceStrategy<StorageClass> = {
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

const storageClassTable: TableConvertor<StorageClass> = {
  columns: [
    NAME,
    column('Provisioner', 'The provisioner of volumes.'),
    column('ReclaimPolicy', 'Whether a volume is kept or deleted after its claim.'),
    column('VolumeBindingMode', 'When volumes are provisioned and bound.'),
    column('AllowVolumeExpansion', 'Whether its volumes can grow.'),
    AGE,
  ],
  cells: (storageClass, now) => [
    markedName(
      storageClass,
      'storageclass.kubernetes.io/is-default-class',
      'storageclass.beta.kubernetes.io/is-default-class',
    ),
    storageClass.provisioner,
    storageClass.reclaimPolicy ?? 'Delete',
    storageClass.volumeBindingMode ?? 'Immediate',
    storageClass.allowVolumeExpansion ?? false,
    since(storageClass.metadata.creationTimestamp, now),
  ],
};

export const storageClassKind = defineKind<StorageClass>({
  type: storageClasses,
  strategy: storageClassStrategy,
  table: storageClassTable,
});
