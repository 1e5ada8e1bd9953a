// The node lifecycle controller.

export { NodeLifecycleController } from './node-lifecycle-controller.ts';
export type { NodeLifecycleConfig } from './node-lifecycle-controller.ts';
