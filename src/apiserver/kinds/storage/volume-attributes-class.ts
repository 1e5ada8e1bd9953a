// The resource volumeattributesclasses.

import { volumeAttributesClasses } from '#api/groups/storage/v1/index.ts';
import type * as storage from '#api/groups/storage/v1/index.ts';
import {
  validateVolumeAttributesClass,
  validateVolumeAttributesClassUpdate,
} from '#api/groups/storage/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { markedName } from './default-class.ts';

type VolumeAttributesClass = Immutable<storage.VolumeAttributesClass>;

const volumeAttributesClassStrategy: ResourceStrategy<VolumeAttributesClass> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  validate: (attributesClass) => validateVolumeAttributesClass(attributesClass),
  validateUpdate: (attributesClass, old) =>
    validateVolumeAttributesClassUpdate(attributesClass, old),
};

const volumeAttributesClassTable: TableConvertor<VolumeAttributesClass> = {
  columns: [NAME, column('DriverName', 'The driver that interprets the parameters.'), AGE],
  cells: (attributesClass, now) => [
    markedName(attributesClass, 'volumeattributesclass.alpha.kubernetes.io/is-default-class'),
    attributesClass.driverName,
    since(attributesClass.metadata.creationTimestamp, now),
  ],
};

export const volumeAttributesClassKind = defineKind<VolumeAttributesClass>({
  type: volumeAttributesClasses,
  strategy: volumeAttributesClassStrategy,
  table: volumeAttributesClassTable,
});
