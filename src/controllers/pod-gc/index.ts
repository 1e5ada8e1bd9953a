// The collector of pods that no other component removes.

export { PodGcController } from './pod-gc-controller.ts';
export type { PodGcConfig } from './pod-gc-controller.ts';
