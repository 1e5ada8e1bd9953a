// The embedding API: whole clusters inside a program or a test.

export { startCluster } from './embedded/start-cluster.ts';
export type { EmbeddedCluster, StartClusterOptions } from './embedded/start-cluster.ts';
export { createCluster } from './embedded/create-cluster.ts';
export type {
  CreateClusterOptions,
  DurableCluster,
  EtcdOptions,
} from './embedded/create-cluster.ts';
export type * from './embedded/handle.ts';
export type {
  AccessReviewer,
  AdmissionCall,
  AdmissionOptions,
  AuthorizationOptions,
  ConversionHandler,
  InstalledHandler,
  MutatingHandler,
  MutationOptions,
  ValidatingHandler,
  Webhooks,
} from './embedded/extensions/index.ts';
export type {
  BreakpointCondition,
  BreakpointOptions,
  Cause,
  ChangeRecord,
  ClusterEvent,
  Convergence,
  ConvergeOptions,
  DeliveryRecord,
  EventLog,
  HeldRequest,
  HistoryEntry,
  Insight,
  PendingRequest,
  PersistentWrite,
  Relation,
  RequestRecord,
} from './embedded/insight/index.ts';
