// The DaemonSet controller.

export { DaemonSetController } from './daemon-set-controller.ts';
export type { DaemonSetControllerConfig } from './daemon-set-controller.ts';
