// The controller that evicts pods from devices with NoExecute taints.

export { DeviceTaintEvictionController } from './device-taint-eviction-controller.ts';
export type { DeviceTaintEvictionConfig } from './device-taint-eviction-controller.ts';
