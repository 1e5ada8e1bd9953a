// The public interface of the pod network.

export { bridgeName, bridgeNetwork, findCniPlugins, writeCniConfig } from './cni.ts';
export type { BridgeNetworkConfig, CniConfigList } from './cni.ts';
export { keepIptablesHint, removeIptablesHint } from './iptables-hint.ts';
export { removeBridgeNetwork, removePodNetworks } from './cleanup.ts';
export * from './pod-network/index.ts';
export {
  NodePolicies,
  policyTableName,
  removePolicyTable,
  type PolicyTableSettings,
} from './policy/index.ts';
export {
  addServiceAddress,
  otherInterfaceWith,
  removeServiceAddress,
  serviceInterfaceName,
} from './service-address.ts';
export {
  type AnnouncerSettings,
  removeAnnouncements,
  runAnnouncer,
} from './announce/run-announcer.ts';
