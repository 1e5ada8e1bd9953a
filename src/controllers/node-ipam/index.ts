// The controller of nodes' pod ranges.

export { NodeIpamController } from './node-ipam-controller.ts';
export type { NodeIpamConfig } from './node-ipam-controller.ts';
