// `coxswain/client`: clients of any cluster, and what controllers are built from.

export { connect } from '#client/connect.ts';
export type { Connection, ConnectOptions } from '#client/connect.ts';
export { createClient } from '#client/create-client.ts';
export { createHttpTransport } from '#client/http/index.ts';
export type { HttpTransportConfig, ServerAccess } from '#client/http/index.ts';
export { KubeconfigError, loadKubeconfig } from '#client/kubeconfig.ts';
export type { KubeconfigContext, LoadKubeconfigOptions } from '#client/kubeconfig.ts';
export {
  ExecCredentials,
  ExecCredentialsError,
  inClusterAccess,
  isInCluster,
  TokenFile,
} from '#client/credentials/index.ts';
export type {
  Credentials,
  CredentialSource,
  ExecCredentialsConfig,
  InClusterOptions,
} from '#client/credentials/index.ts';
export { defineResource } from '#client/define-resource.ts';
export type { ResourceDefinition } from '#client/define-resource.ts';
export { defineCustomResource } from '#client/custom-resource/index.ts';
export type * from '#client/custom-resource/index.ts';
export { recreatePods, rollingUpdate, RollingUpdateError } from '#client/rolling-update/index.ts';
export type {
  RecreateOptions,
  RollingUpdateOptions,
  RollingUpdateResult,
} from '#client/rolling-update/index.ts';
export { waitFor } from '#client/wait-for.ts';
export type { WaitCondition, WaitForOptions } from '#client/wait-for.ts';
export type * from '#client/client.ts';
export type * from '#client/transport.ts';

export {
  objectKey,
  SharedInformer,
  SharedInformerFactory,
  splitKey,
  Store,
} from '#client/informers/index.ts';
export type {
  EventHandler,
  HandlerRegistration,
  Indexers,
  IndexFunction,
  InformerOptions,
  InformerSource,
  Lister,
  SharedInformerFactoryConfig,
} from '#client/informers/index.ts';
export {
  DelayingQueue,
  RateLimitingQueue,
  reconciled,
  requeue,
  requeueAfter,
  runWorkers,
  WorkQueue,
} from '#client/workqueue/index.ts';
export type {
  RateLimiter,
  Reconcile,
  ReconcileResult,
  RunWorkersOptions,
} from '#client/workqueue/index.ts';
export { EventRecorder } from '#client/events/index.ts';
export type {
  EventRecorderConfig,
  EventSubject,
  EventType,
  Recorder,
} from '#client/events/index.ts';
export { LeaderElector } from '#client/leader-election.ts';
export type { LeaderElectorConfig } from '#client/leader-election.ts';

/** The errors of the API: `errors.isNotFound(error)`. */
export * as errors from '#machinery/apierrors.ts';
/** Waiting for conditions: `wait.poll(…)`. */
export * as wait from '#machinery/wait.ts';
export { systemClock, VirtualClock } from '#machinery/clock.ts';
export type { Clock, Timer, VirtualClockConfig } from '#machinery/clock.ts';
export { createLogger, silentLogger } from '#machinery/log.ts';
export type { Logger, LoggerConfig, LogLevel } from '#machinery/log.ts';
export { SeededRandom, systemRandom } from '#machinery/random.ts';
export type { Random } from '#machinery/random.ts';
export type { WatchStream } from '#machinery/watch.ts';
export type { ResourceType } from '#api/machinery/descriptor.ts';
export type { Immutable, KubeObject, ListOf, New } from '#api/machinery/meta/v1/index.ts';
