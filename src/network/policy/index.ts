// The network policies of a node.

export { NodePolicies, type NodePoliciesConfig } from './node-policies.ts';
export { removePolicyTable } from './nftables/nftables-backend.ts';
export { policyTableName, type PolicyTableSettings } from './nftables/table.ts';
