// Validation of the storage group: one function per kind and way of writing it. Metadata is checked for all kinds alike,
// elsewhere.

export {
  validateStorageClass,
  validateStorageClassUpdate,
  validateVolumeAttributesClass,
  validateVolumeAttributesClassUpdate,
} from './classes.ts';
export {
  validateCSIDriver,
  validateCSIDriverUpdate,
  validateCSINode,
  validateCSINodeUpdate,
  validateCSIStorageCapacity,
  validateCSIStorageCapacityUpdate,
} from './csi.ts';
export { validateVolumeAttachment, validateVolumeAttachmentUpdate } from './volume-attachment.ts';
