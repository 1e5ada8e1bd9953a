// Defaults of the storage group, as Kubernetes documents them. A defaulter may change the object it is given: it is a fresh
// draft, straight from the decoder.

import type { Defaulters } from '#api/machinery/scheme.ts';
import { setPersistentVolumeSpecDefaults } from '#api/groups/core/v1/defaults.ts';
import type { CSIDriver, StorageClass, VolumeAttachment } from './types.ts';

function setStorageClassDefaults(storageClass: StorageClass): void {
  storageClass.reclaimPolicy ??= 'Delete';
  storageClass.volumeBindingMode ??= 'Immediate';
}

function setVolumeAttachmentDefaults({ spec }: VolumeAttachment): void {
  const { inlineVolumeSpec } = spec.source;
  if (inlineVolumeSpec !== undefined) setPersistentVolumeSpecDefaults(inlineVolumeSpec);
}

function setCSIDriverDefaults({ spec }: CSIDriver): void {
  spec.attachRequired ??= true;
  spec.podInfoOnMount ??= false;
  spec.storageCapacity ??= false;
  spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
  if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
  spec.requiresRepublish ??= false;
  spec.seLinuxMount ??= false;
}

/** The defaulters of this group and version, by kind. Kinds without defaults have none. */
export const defaulters: Defaulters = {
  CSIDriver: setCSIDriverDefaults,
  StorageClass: setStorageClassDefaults,
  VolumeAttachment: setVolumeAttachmentDefaults,
};
