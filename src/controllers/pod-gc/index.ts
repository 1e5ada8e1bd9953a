// The pod garbage collector.

export { PodGcController } from './pod-gc-controller.ts';
export type { PodGcConfig } from './pod-gc-controller.ts';
