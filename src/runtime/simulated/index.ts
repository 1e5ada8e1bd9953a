// The public face of the simulated runtime.

export { annotationPrefix } from './annotations.ts';
export { createSimulatedRuntime } from './runtime.ts';
export type { SimulatedRuntimeConfig } from './runtime.ts';
