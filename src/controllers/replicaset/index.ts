// Replica managers: ReplicaSets and ReplicationControllers.

export { ReplicaManager } from './replica-manager.ts';
export type { ReplicaManagerConfig } from './replica-manager.ts';
export { replicaSetKind, replicationControllerKind } from './replica-owner.ts';
