// The collector of pods that nobody else removes.

export { PodGcController } from './pod-gc-controller.ts';
export type { PodGcConfig } from './pod-gc-controller.ts';
