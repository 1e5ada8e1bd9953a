// Validation of the storage group: one function per kind and operation. Metadata is validated
// elsewhere, with the same rules for all kinds.

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
