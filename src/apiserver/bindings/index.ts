// Bindings of many pods as one call.

export { PodBindings, type BindingResult, type PodBindingBatch } from './pod-bindings.ts';
