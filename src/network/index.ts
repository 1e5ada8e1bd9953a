// The public face of the pod network.

export { bridgeName, bridgeNetwork, findCniPlugins, writeCniConfig } from './cni.ts';
export type { BridgeNetworkConfig, CniConfigList } from './cni.ts';
export { removeBridgeNetwork, removePodNetworks } from './cleanup.ts';
export { NodePolicies, policyTableName, removePolicyTable, type PolicyTableSettings } from './policy/index.ts';
export { addServiceAddress, otherInterfaceWith, removeServiceAddress, serviceInterfaceName } from './service-address.ts';
