// Validation of the core group: one function per kind and way of writing it. Metadata is checked for all kinds alike, elsewhere.

export { annotations as validateAnnotations } from './annotations.ts';
export * from './configuration.ts';
export { validateEvent } from './event.ts';
export * from './namespace.ts';
export { validateNode, validateNodeUpdate } from './node.ts';
export { validatePod, validatePodUpdate } from './pod.ts';
export { podTemplate as validatePodTemplate, runningPodTemplate } from './pod-spec.ts';
export { validatePodStatusUpdate } from './pod-status.ts';
export { validateBinding, validateReplicaCounts, validateReplicationController } from './replication.ts';
export { validateService, validateServiceStatusUpdate, validateServiceUpdate } from './service.ts';
export { clusterAddresses as validateServiceAddresses } from './service-addresses.ts';
