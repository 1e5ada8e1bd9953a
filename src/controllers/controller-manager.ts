// Runs the controllers, on one set of informers.

import { sharedByMany } from '../client/abort.ts';
import type { Client } from '../client/client.ts';
import { SharedInformerFactory } from '../client/informers/index.ts';
import type { Clock } from '../machinery/clock.ts';
import type { Logger } from '../machinery/log.ts';
import type { Random } from '../machinery/random.ts';
import { BootstrapTokenCleaner } from './bootstrap/index.ts';
import { CertificateApprover, CertificateCleaner } from './certificates/index.ts';
import { ClusterRoleAggregationController } from './clusterrole-aggregation/index.ts';
import type { Controller, ControllerConfig } from './controller.ts';
import { CronJobController } from './cronjob/index.ts';
import { DaemonSetController } from './daemonset/index.ts';
import { DeploymentController } from './deployment/index.ts';
import { DisruptionController } from './disruption/index.ts';
import { EndpointsController } from './endpoints/index.ts';
import { EndpointSliceMirroringController } from './endpointslice-mirroring/index.ts';
import { EndpointSliceController } from './endpointslice/index.ts';
import { GarbageCollector } from './garbage-collector/index.ts';
import type { GarbageCollectorConfig } from './garbage-collector/index.ts';
import { HorizontalPodAutoscalerController } from './horizontal-pod-autoscaler/index.ts';
import type { HorizontalPodAutoscalerConfig } from './horizontal-pod-autoscaler/index.ts';
import { JobController } from './job/index.ts';
import { NamespaceController } from './namespace/index.ts';
import { NodeIpamController } from './node-ipam/index.ts';
import type { NodeIpamConfig } from './node-ipam/index.ts';
import { NodeLifecycleController } from './node-lifecycle/index.ts';
import type { NodeLifecycleConfig } from './node-lifecycle/index.ts';
import { PodGcController } from './pod-gc/index.ts';
import type { PodGcConfig } from './pod-gc/index.ts';
import { ReplicaManager, replicaSetKind, replicationControllerKind } from './replicaset/index.ts';
import { ResourceClaimController } from './resource-claim/index.ts';
import { ResourceQuotaController } from './resourcequota/index.ts';
import { RootCaPublisher } from './root-ca-publisher/index.ts';
import { ServiceLbController } from './service-lb/index.ts';
import { legacyTokenSigner, TokensController } from './serviceaccount-token/index.ts';
import { ServiceAccountsController } from './serviceaccount/index.ts';
import { StatefulSetController } from './statefulset/index.ts';
import { TaintEvictionController } from './taint-eviction/index.ts';
import { TtlController } from './ttl/index.ts';
import { TtlAfterFinishedController } from './ttl-after-finished/index.ts';

/** The settings of single controllers that may be changed. */
export interface ControllerSettings {
  readonly deployment?: { readonly workers?: number };
  readonly daemonset?: { readonly workers?: number; readonly burstReplicas?: number };
  readonly cronjob?: { readonly workers?: number };
  readonly 'horizontal-pod-autoscaler'?: Omit<HorizontalPodAutoscalerConfig, keyof ControllerConfig>;
  readonly job?: { readonly workers?: number };
  readonly statefulset?: { readonly workers?: number };
  readonly replicaset?: { readonly workers?: number; readonly burstReplicas?: number };
  readonly replicationcontroller?: { readonly workers?: number; readonly burstReplicas?: number };
  readonly endpoints?: { readonly workers?: number };
  readonly endpointslice?: { readonly workers?: number; readonly maxEndpointsPerSlice?: number };
  readonly 'endpointslice-mirroring'?: { readonly workers?: number };
  readonly 'garbage-collector'?: Pick<GarbageCollectorConfig, 'workers' | 'discoveryPeriodMs'>;
  readonly resourcequota?: { readonly workers?: number; readonly recountMs?: number };
  readonly namespace?: { readonly workers?: number };
  readonly 'service-lb'?: { readonly maxAddresses?: number };
  readonly serviceaccount?: { readonly serviceAccounts?: readonly string[] };
  readonly 'node-lifecycle'?: Omit<NodeLifecycleConfig, keyof ControllerConfig>;
  readonly 'taint-eviction'?: { readonly workers?: number };
  readonly 'pod-gc'?: Omit<PodGcConfig, keyof ControllerConfig>;
  readonly 'node-ipam'?: Pick<NodeIpamConfig, 'serviceCidrs' | 'nodeMaskSizeIPv4' | 'nodeMaskSizeIPv6'>;
}

export interface ControllerManagerConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Default: a factory of its own. One that is given may serve other components too; the manager starts it in any case. */
  readonly informers?: SharedInformerFactory;
  /** Which controllers run. Default: all for which there is what they need. */
  readonly controllers?: readonly ControllerName[];
  /** PEM, a P-256 private key: that of the API server's tokens. Without it Secrets that ask for a token get none. */
  readonly serviceAccountKey?: string;
  /** PEM. Without it the root CA is not published. */
  readonly rootCa?: string;
  /** Without it nodes get no ranges of pod addresses. */
  readonly clusterCidrs?: readonly string[];
  readonly settings?: ControllerSettings;
}

type Make = (config: ControllerConfig, manager: ControllerManagerConfig) => Controller | undefined;

/** Every controller, by the name by which it is chosen. */
const CONTROLLERS = {
  deployment: (config, { settings }) => new DeploymentController({ ...config, ...settings?.deployment }),
  daemonset: (config, { settings }) => new DaemonSetController({ ...config, ...settings?.daemonset }),
  cronjob: (config, { settings }) => new CronJobController({ ...config, ...settings?.cronjob }),
  'bootstrap-token-cleaner': (config) => new BootstrapTokenCleaner(config),
  'certificatesigningrequest-approving': (config) => new CertificateApprover(config),
  'certificatesigningrequest-cleaner': (config) => new CertificateCleaner(config),
  'clusterrole-aggregation': (config) => new ClusterRoleAggregationController(config),
  disruption: (config) => new DisruptionController(config),
  'horizontal-pod-autoscaler': (config, { settings }) =>
    new HorizontalPodAutoscalerController({ ...config, ...settings?.['horizontal-pod-autoscaler'] }),
  job: (config, { settings }) => new JobController({ ...config, ...settings?.job }),
  statefulset: (config, { settings }) => new StatefulSetController({ ...config, ...settings?.statefulset }),
  replicaset: (config, { settings }) => new ReplicaManager({ ...config, ...settings?.replicaset, kind: replicaSetKind }),
  replicationcontroller: (config, { settings }) =>
    new ReplicaManager({ ...config, ...settings?.replicationcontroller, kind: replicationControllerKind }),
  endpoints: (config, { settings }) => new EndpointsController({ ...config, ...settings?.endpoints }),
  endpointslice: (config, { settings }) => new EndpointSliceController({ ...config, ...settings?.endpointslice }),
  'endpointslice-mirroring': (config, { settings }) =>
    new EndpointSliceMirroringController({ ...config, ...settings?.['endpointslice-mirroring'] }),
  'garbage-collector': (config, { settings }) => new GarbageCollector({ ...config, ...settings?.['garbage-collector'] }),
  'resource-claim': (config) => new ResourceClaimController(config),
  resourcequota: (config, { settings }) => new ResourceQuotaController({ ...config, ...settings?.resourcequota }),
  namespace: (config, { settings }) => new NamespaceController({ ...config, ...settings?.namespace }),
  'service-lb': (config, { settings }) => new ServiceLbController({ ...config, ...settings?.['service-lb'] }),
  serviceaccount: (config, { settings }) => new ServiceAccountsController({ ...config, ...settings?.serviceaccount }),
  'serviceaccount-token': (config, { serviceAccountKey, rootCa }) =>
    serviceAccountKey === undefined
      ? undefined
      : new TokensController({ ...config, sign: legacyTokenSigner(serviceAccountKey), rootCa }),
  'root-ca-publisher': (config, { rootCa }) => (rootCa === undefined ? undefined : new RootCaPublisher({ ...config, rootCa })),
  'node-lifecycle': (config, { settings }) => new NodeLifecycleController({ ...config, ...settings?.['node-lifecycle'] }),
  'node-ipam': (config, { clusterCidrs, settings }) =>
    clusterCidrs === undefined ? undefined : new NodeIpamController({ ...config, clusterCidrs, ...settings?.['node-ipam'] }),
  'taint-eviction': (config, { settings }) => new TaintEvictionController({ ...config, ...settings?.['taint-eviction'] }),
  ttl: (config) => new TtlController(config),
  'ttl-after-finished': (config) => new TtlAfterFinishedController(config),
  'pod-gc': (config, { settings }) => new PodGcController({ ...config, ...settings?.['pod-gc'] }),
} as const satisfies Record<string, Make>;

export type ControllerName = keyof typeof CONTROLLERS;

export const CONTROLLER_NAMES = Object.keys(CONTROLLERS) as readonly ControllerName[];

export class ControllerManager {
  readonly #config: ControllerManagerConfig;

  constructor(config: ControllerManagerConfig) {
    this.#config = config;
  }

  /**
   * Runs the controllers until the signal aborts; resolves when nothing of them is under way any more. A controller that
   * fails is a bug: the failure is thrown, when the others have been stopped.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, random, logger } = this.#config;
    const failed = new AbortController();
    const stop = sharedByMany(AbortSignal.any([signal, failed.signal]));
    const informers = this.#config.informers ?? new SharedInformerFactory({ client, clock, random, logger });
    const controllers = (this.#config.controllers ?? CONTROLLER_NAMES).flatMap((name) => {
      const config = { client, clock, random, informers, logger: logger.with({ controller: name }) };
      const make: Make = CONTROLLERS[name];
      return make(config, this.#config) ?? [];
    });
    informers.start(stop);
    const results = await Promise.allSettled(
      controllers.map(async (controller) => {
        try {
          await controller.run(stop);
        } catch (err) {
          if (stop.aborted) return;
          logger.error('a controller failed', { controller: controller.name, err });
          failed.abort(err);
          throw err;
        }
      }),
    );
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }
}
