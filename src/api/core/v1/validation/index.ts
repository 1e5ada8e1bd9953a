// Validation of the core group: one function per kind and way of writing it. Metadata is checked for all kinds alike, elsewhere.

export * from './kinds.ts';
export { validatePod, validatePodStatusUpdate, validatePodUpdate } from './pod.ts';
export { annotations as validateAnnotations, podTemplate as validatePodTemplate, runningPodTemplate } from './pod-spec.ts';
export { validateService, validateServiceUpdate } from './service.ts';
