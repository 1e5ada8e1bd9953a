// The embedding API: whole clusters inside a program or a test.

export { startCluster } from './embedded/start-cluster.ts';
export type { EmbeddedCluster, StartClusterOptions } from './embedded/embedded-cluster.ts';
export type { AccessOptions } from './access/options.ts';
export { createCluster } from './embedded/create-cluster.ts';
export type {
  CreateClusterOptions,
  DurableCluster,
  EtcdOptions,
} from './embedded/create-cluster.ts';
export type * from './embedded/handle.ts';
export type {
  AccessDecision,
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
} from './embedded/extensions/types.ts';
export type * from './embedded/insight/types.ts';
export type {
  ChangeRecord,
  ClusterEvent,
  DeliveryRecord,
  EventLog,
  PendingRequest,
  RequestRecord,
} from './embedded/insight/records.ts';
