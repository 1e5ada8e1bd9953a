// The network between pods of several machines.

export { runPodNetwork, type PodNetworkConfig } from './agent.ts';
export { cleanPodNetwork } from './clean.ts';
export {
  DEFAULT_VXLAN_ID,
  DEFAULT_VXLAN_PORT,
  POD_NETWORK_MODES,
  type PodNetworkMode,
  type PodNetworkNames,
  type PodNetworkSettings,
} from './model.ts';
export { podNetworkNames } from './names.ts';
export { type CniTarget, NodeNetwork } from './node-network.ts';
export { grantPodNetworkPermissions, POD_NETWORK_PERMISSIONS } from './permissions.ts';
export { type PodNetworkSystem, systemPodNetwork } from './system.ts';
