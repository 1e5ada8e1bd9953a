// Pods leave devices with NoExecute taints that their claims do not tolerate.

export { DeviceTaintEvictionController } from './device-taint-eviction-controller.ts';
export type { DeviceTaintEvictionConfig } from './device-taint-eviction-controller.ts';
