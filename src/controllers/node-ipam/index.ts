// The node IPAM controller.

export { NodeIpamController } from './node-ipam-controller.ts';
export type { NodeIpamConfig } from './node-ipam-controller.ts';
