// Whatever a decoder lets through, the strategies of volumes, quotas and the storage group answer: they find errors, and never
// fail themselves.

import { expect, test } from 'vitest';

import { podTemplateTable, resourceQuotaTable } from '#apiserver/printers/quota.ts';
import {
  csiDriverTable,
  csiNodeTable,
  csiStorageCapacityTable,
  persistentVolumeClaimTable,
  persistentVolumeTable,
  storageClassTable,
  volumeAttachmentTable,
  volumeAttributesClassTable,
} from '#apiserver/printers/volumes.ts';
import { exerciseStrategy as exercise } from '#apiserver/testing/fuzz-strategy.ts';
import { limitRangeStrategy } from '../core/limit-range.ts';
import { persistentVolumeClaimStatusStrategy, persistentVolumeClaimStrategy } from '../core/persistent-volume-claim/strategy.ts';
import { persistentVolumeStatusStrategy, persistentVolumeStrategy } from '../core/persistent-volume.ts';
import { podTemplateStrategy } from '../core/pod-template.ts';
import { resourceQuotaStatusStrategy, resourceQuotaStrategy } from '../core/resource-quota.ts';
import { csiDriverStrategy } from './csi-driver.ts';
import { csiNodeStrategy } from './csi-node.ts';
import { csiStorageCapacityStrategy } from './csi-storage-capacity.ts';
import { storageClassStrategy } from './storage-class.ts';
import { volumeAttachmentStatusStrategy, volumeAttachmentStrategy } from './volume-attachment.ts';
import { volumeAttributesClassStrategy } from './volume-attributes-class.ts';

test.each<[key: string, run: (key: string) => number]>([
  ['core/v1.LimitRange', (key) => exercise(key, limitRangeStrategy, undefined, undefined)],
  [
    'core/v1.PersistentVolume',
    (key) => exercise(key, persistentVolumeStrategy, persistentVolumeStatusStrategy, persistentVolumeTable),
  ],
  [
    'core/v1.PersistentVolumeClaim',
    (key) => exercise(key, persistentVolumeClaimStrategy, persistentVolumeClaimStatusStrategy, persistentVolumeClaimTable),
  ],
  ['core/v1.PodTemplate', (key) => exercise(key, podTemplateStrategy, undefined, podTemplateTable)],
  ['core/v1.ResourceQuota', (key) => exercise(key, resourceQuotaStrategy, resourceQuotaStatusStrategy, resourceQuotaTable)],
  ['storage/v1.CSIDriver', (key) => exercise(key, csiDriverStrategy, undefined, csiDriverTable)],
  ['storage/v1.CSINode', (key) => exercise(key, csiNodeStrategy, undefined, csiNodeTable)],
  ['storage/v1.CSIStorageCapacity', (key) => exercise(key, csiStorageCapacityStrategy, undefined, csiStorageCapacityTable)],
  ['storage/v1.StorageClass', (key) => exercise(key, storageClassStrategy, undefined, storageClassTable)],
  [
    'storage/v1.VolumeAttachment',
    (key) => exercise(key, volumeAttachmentStrategy, volumeAttachmentStatusStrategy, volumeAttachmentTable),
  ],
  [
    'storage/v1.VolumeAttributesClass',
    (key) => exercise(key, volumeAttributesClassStrategy, undefined, volumeAttributesClassTable),
  ],
])('%s', (key, run) => {
  expect(run(key)).toBeGreaterThan(0);
});
