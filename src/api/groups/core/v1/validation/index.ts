// Validation of the core group: one function per kind and operation. Metadata is validated
// elsewhere, with the same rules for all kinds.

export { annotations as validateAnnotations } from './annotations.ts';
export * from './configuration.ts';
export { validateEvent } from './event.ts';
export { validateLimitRange } from './limit-range.ts';
export * from './namespace.ts';
export { validateNode, validateNodeUpdate } from './node.ts';
export {
  inlineVolumeSpec as validateInlineVolumeSpec,
  validatePersistentVolume,
  validatePersistentVolumeUpdate,
} from './persistent-volume.ts';
export {
  validatePersistentVolumeClaim,
  validatePersistentVolumeClaimStatusUpdate,
  validatePersistentVolumeClaimUpdate,
} from './persistent-volume-claim.ts';
export { validatePod, validatePodUpdate } from './pod.ts';
export { validatePodEphemeralContainersUpdate, validatePodResize } from './pod-subresources.ts';
export { podTemplate as validatePodTemplate, runningPodTemplate } from './pod-spec.ts';
export { validatePodStatusUpdate } from './pod-status.ts';
export {
  validateBinding,
  validateReplicaCounts,
  validateReplicationController,
} from './replication.ts';
export {
  validateResourceQuota,
  validateResourceQuotaStatus,
  validateResourceQuotaUpdate,
} from './resource-quota.ts';
export { appArmorProfile as validateAppArmorProfile } from './security.ts';
export { validateService, validateServiceStatusUpdate, validateServiceUpdate } from './service.ts';
export { clusterAddresses as validateServiceAddresses } from './service-addresses.ts';
export { csiDriverName as validateCSIDriverName } from './volumes.ts';
