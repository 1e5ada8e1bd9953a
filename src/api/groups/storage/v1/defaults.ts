// Defaults of the storage group, as Kubernetes documents them. A defaulter may modify its object,
// which was just decoded.

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

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  CSIDriver: setCSIDriverDefaults,
  StorageClass: setStorageClassDefaults,
  VolumeAttachment: setVolumeAttachmentDefaults,
};
