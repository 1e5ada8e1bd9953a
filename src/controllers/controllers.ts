// Every controller: its name, its service account, and how it is created.

import { type AttachDetachConfig, AttachDetachController } from './attach-detach/index.ts';
import { BootstrapSigner, BootstrapTokenCleaner } from './bootstrap/index.ts';
import {
  type Authority,
  CertificateApprover,
  CertificateCleaner,
  CertificateSigner,
} from './certificates/index.ts';
import { ClusterRoleAggregationController } from './clusterrole-aggregation/index.ts';
import type { Controller, ControllerConfig } from './controller.ts';
import { CronJobController } from './cronjob/index.ts';
import { DaemonSetController } from './daemonset/index.ts';
import { DeploymentController } from './deployment/index.ts';
import { DeviceTaintEvictionController } from './device-taint-eviction/index.ts';
import { DisruptionController } from './disruption/index.ts';
import { EndpointsController } from './endpoints/index.ts';
import { EndpointSliceMirroringController } from './endpointslice-mirroring/index.ts';
import { EndpointSliceController } from './endpointslice/index.ts';
import { EphemeralVolumeController } from './ephemeral-volume/index.ts';
import { GarbageCollector, type GarbageCollectorConfig } from './garbage-collector/index.ts';
import {
  type HorizontalPodAutoscalerConfig,
  HorizontalPodAutoscalerController,
} from './horizontal-pod-autoscaler/index.ts';
import { JobController } from './job/index.ts';
import { LocalProvisioner } from './local-provisioner/index.ts';
import { NamespaceController } from './namespace/index.ts';
import { type NodeIpamConfig, NodeIpamController } from './node-ipam/index.ts';
import { type NodeLifecycleConfig, NodeLifecycleController } from './node-lifecycle/index.ts';
import { PersistentVolumeBinder, type RecyclerSettings } from './persistent-volume/index.ts';
import { type PodGcConfig, PodGcController } from './pod-gc/index.ts';
import { ReplicaManager, replicaSetKind, replicationControllerKind } from './replicaset/index.ts';
import { ResourceClaimController } from './resource-claim/index.ts';
import { ResourceQuotaController } from './resourcequota/index.ts';
import { RootCaPublisher } from './root-ca-publisher/index.ts';
import type { IpPool } from '#machinery/net/ip-pool.ts';
import { LoadBalancerPoolController } from './load-balancer-pool/index.ts';
import { ServiceLbController } from './service-lb/index.ts';
import { ServiceCidrController } from './servicecidrs/index.ts';
import {
  LegacyTokenCleaner,
  legacyTokenSigner,
  TokensController,
} from './serviceaccount-token/index.ts';
import { ServiceAccountsController } from './serviceaccount/index.ts';
import { StatefulSetController } from './statefulset/index.ts';
import { StorageVersionMigrator } from './storage-version-migrator/index.ts';
import { TaintEvictionController } from './taint-eviction/index.ts';
import { TtlController } from './ttl/index.ts';
import { ValidatingAdmissionPolicyStatusController } from './validating-admission-policy-status/index.ts';
import { VolumeExpandController } from './volume-expand/index.ts';
import {
  PvcProtectionController,
  PvProtectionController,
  VacProtectionController,
} from './volume-protection/index.ts';
import { TtlAfterFinishedController } from './ttl-after-finished/index.ts';

/** The settings of single controllers that may be changed. */
export interface ControllerSettings {
  readonly 'attach-detach'?: Pick<AttachDetachConfig, 'maxWaitForUnmountMs'>;
  readonly deployment?: { readonly workers?: number };
  readonly daemonset?: { readonly workers?: number; readonly burstReplicas?: number };
  readonly cronjob?: { readonly workers?: number };
  readonly 'horizontal-pod-autoscaler'?: Omit<
    HorizontalPodAutoscalerConfig,
    keyof ControllerConfig
  >;
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
  /** With a pool, services get addresses from the pool; without one, addresses of nodes. */
  readonly 'service-lb'?: { readonly maxAddresses?: number; readonly pool?: IpPool };
  readonly serviceaccount?: { readonly serviceAccounts?: readonly string[] };
  readonly 'node-lifecycle'?: Omit<NodeLifecycleConfig, keyof ControllerConfig>;
  readonly 'taint-eviction'?: { readonly workers?: number };
  readonly 'device-taint-eviction'?: { readonly workers?: number };
  readonly 'persistentvolume-binder'?: { readonly recycler?: RecyclerSettings };
  readonly 'pod-gc'?: Omit<PodGcConfig, keyof ControllerConfig>;
  readonly 'node-ipam'?: Pick<
    NodeIpamConfig,
    'serviceCidrs' | 'nodeMaskSizeIPv4' | 'nodeMaskSizeIPv6'
  >;
}

/**
 * The dependencies of single controllers. A controller without its dependency does not run, or does
 * less.
 */
export interface ControllerNeeds {
  /**
   * The P-256 private key of the API server's tokens, as PEM. Without it, Secrets that request a
   * token get none.
   */
  readonly serviceAccountKey?: string;
  /** The root CA, as PEM. Without it, the CA is not published. */
  readonly rootCa?: string;
  /**
   * The cluster's certificate authority, and the maximum lifetime of certificates (default: 365
   * days). Without it, approved requests are not signed.
   */
  readonly signing?: { readonly authority: Authority; readonly maxDurationMs?: number };
  /** The ranges of pod addresses. Without them, nodes get no ranges. */
  readonly clusterCidrs?: readonly string[];
  readonly settings?: ControllerSettings;
}

/** A controller, under the name by which it is selected. */
interface Entry {
  /**
   * The ServiceAccount in kube-system that the controller writes as. Its permissions are in the
   * ClusterRole `system:controller:<account>`. Absent: it writes as the controller manager itself.
   */
  readonly account?: string;
  /** A former name, which is still accepted. */
  readonly alias?: string;
  /** `*` selects this controller, too. Default: true. */
  readonly onByDefault?: boolean;
  /**
   * Creates the controller. Returns undefined if a dependency is missing, so that the controller
   * does not run.
   */
  readonly make: (config: ControllerConfig, needs: ControllerNeeds) => Controller | undefined;
}

export const CONTROLLERS = {
  'deployment-controller': {
    account: 'deployment-controller',
    alias: 'deployment',
    make: (config, { settings }) =>
      new DeploymentController({ ...config, ...settings?.deployment }),
  },
  'daemonset-controller': {
    account: 'daemon-set-controller',
    alias: 'daemonset',
    make: (config, { settings }) => new DaemonSetController({ ...config, ...settings?.daemonset }),
  },
  'cronjob-controller': {
    account: 'cronjob-controller',
    alias: 'cronjob',
    make: (config, { settings }) => new CronJobController({ ...config, ...settings?.cronjob }),
  },
  'bootstrap-signer-controller': {
    account: 'bootstrap-signer',
    alias: 'bootstrapsigner',
    onByDefault: false,
    make: (config) => new BootstrapSigner(config),
  },
  'token-cleaner-controller': {
    account: 'token-cleaner',
    alias: 'tokencleaner',
    onByDefault: false,
    make: (config) => new BootstrapTokenCleaner(config),
  },
  'certificatesigningrequest-approving-controller': {
    account: 'certificate-controller',
    alias: 'csrapproving',
    make: (config) => new CertificateApprover(config),
  },
  'certificatesigningrequest-signing-controller': {
    account: 'certificate-controller',
    alias: 'csrsigning',
    make: (config, { signing }) =>
      signing === undefined ? undefined : new CertificateSigner({ ...config, ...signing }),
  },
  'certificatesigningrequest-cleaner-controller': {
    account: 'certificate-controller',
    alias: 'csrcleaner',
    make: (config) => new CertificateCleaner(config),
  },
  'clusterrole-aggregation-controller': {
    account: 'clusterrole-aggregation-controller',
    alias: 'clusterrole-aggregation',
    make: (config) => new ClusterRoleAggregationController(config),
  },
  'disruption-controller': {
    account: 'disruption-controller',
    alias: 'disruption',
    make: (config) => new DisruptionController(config),
  },
  'horizontal-pod-autoscaler-controller': {
    account: 'horizontal-pod-autoscaler',
    alias: 'horizontalpodautoscaling',
    make: (config, { settings }) =>
      new HorizontalPodAutoscalerController({
        ...config,
        ...settings?.['horizontal-pod-autoscaler'],
      }),
  },
  'job-controller': {
    account: 'job-controller',
    alias: 'job',
    make: (config, { settings }) => new JobController({ ...config, ...settings?.job }),
  },
  'statefulset-controller': {
    account: 'statefulset-controller',
    alias: 'statefulset',
    make: (config, { settings }) =>
      new StatefulSetController({ ...config, ...settings?.statefulset }),
  },
  'replicaset-controller': {
    account: 'replicaset-controller',
    alias: 'replicaset',
    make: (config, { settings }) =>
      new ReplicaManager({ ...config, ...settings?.replicaset, kind: replicaSetKind }),
  },
  'replicationcontroller-controller': {
    account: 'replication-controller',
    alias: 'replicationcontroller',
    make: (config, { settings }) =>
      new ReplicaManager({
        ...config,
        ...settings?.replicationcontroller,
        kind: replicationControllerKind,
      }),
  },
  'endpoints-controller': {
    account: 'endpoint-controller',
    alias: 'endpoint',
    make: (config, { settings }) => new EndpointsController({ ...config, ...settings?.endpoints }),
  },
  'endpointslice-controller': {
    account: 'endpointslice-controller',
    alias: 'endpointslice',
    make: (config, { settings }) =>
      new EndpointSliceController({ ...config, ...settings?.endpointslice }),
  },
  'endpointslice-mirroring-controller': {
    account: 'endpointslicemirroring-controller',
    alias: 'endpointslicemirroring',
    make: (config, { settings }) =>
      new EndpointSliceMirroringController({ ...config, ...settings?.['endpointslice-mirroring'] }),
  },
  'ephemeral-volume-controller': {
    account: 'ephemeral-volume-controller',
    alias: 'ephemeral-volume',
    make: (config) => new EphemeralVolumeController(config),
  },
  'garbage-collector-controller': {
    account: 'generic-garbage-collector',
    alias: 'garbagecollector',
    make: (config, { settings }) =>
      new GarbageCollector({ ...config, ...settings?.['garbage-collector'] }),
  },
  'resourceclaim-controller': {
    account: 'resource-claim-controller',
    alias: 'resource-claim-controller',
    make: (config) => new ResourceClaimController(config),
  },
  'device-taint-eviction-controller': {
    account: 'device-taint-eviction-controller',
    make: (config, { settings }) =>
      new DeviceTaintEvictionController({ ...config, ...settings?.['device-taint-eviction'] }),
  },
  'resourcequota-controller': {
    account: 'resourcequota-controller',
    alias: 'resourcequota',
    make: (config, { settings }) =>
      new ResourceQuotaController({ ...config, ...settings?.resourcequota }),
  },
  'namespace-controller': {
    account: 'namespace-controller',
    alias: 'namespace',
    make: (config, { settings }) => new NamespaceController({ ...config, ...settings?.namespace }),
  },
  'service-cidr-controller': {
    account: 'service-cidrs-controller',
    make: (config) => new ServiceCidrController(config),
  },
  'service-lb-controller': {
    account: 'service-controller',
    alias: 'service',
    make: (config, { settings: { 'service-lb': { pool, ...rest } = {} } = {} }) =>
      pool === undefined ? new ServiceLbController({ ...config, ...rest }) : undefined,
  },
  'load-balancer-pool-controller': {
    account: 'load-balancer-pool-controller',
    make: (config, { settings }) => {
      const pool = settings?.['service-lb']?.pool;
      return pool === undefined ? undefined : new LoadBalancerPoolController({ ...config, pool });
    },
  },
  'serviceaccount-controller': {
    account: 'service-account-controller',
    alias: 'serviceaccount',
    make: (config, { settings }) =>
      new ServiceAccountsController({ ...config, ...settings?.serviceaccount }),
  },
  'serviceaccount-token-controller': {
    alias: 'serviceaccount-token',
    make: (config, { serviceAccountKey, rootCa }) =>
      serviceAccountKey === undefined
        ? undefined
        : new TokensController({ ...config, sign: legacyTokenSigner(serviceAccountKey), rootCa }),
  },
  'legacy-serviceaccount-token-cleaner-controller': {
    account: 'legacy-service-account-token-cleaner',
    alias: 'legacy-service-account-token-cleaner',
    make: (config) => new LegacyTokenCleaner(config),
  },
  'validatingadmissionpolicy-status-controller': {
    account: 'validatingadmissionpolicy-status-controller',
    alias: 'validatingadmissionpolicy-status',
    make: (config) => new ValidatingAdmissionPolicyStatusController(config),
  },
  'root-ca-certificate-publisher-controller': {
    account: 'root-ca-cert-publisher',
    alias: 'root-ca-cert-publisher',
    make: (config, { rootCa }) =>
      rootCa === undefined ? undefined : new RootCaPublisher({ ...config, rootCa }),
  },
  'node-lifecycle-controller': {
    account: 'node-controller',
    alias: 'nodelifecycle',
    make: (config, { settings }) =>
      new NodeLifecycleController({ ...config, ...settings?.['node-lifecycle'] }),
  },
  'node-ipam-controller': {
    account: 'node-controller',
    alias: 'nodeipam',
    make: (config, { clusterCidrs, settings }) =>
      clusterCidrs === undefined
        ? undefined
        : new NodeIpamController({ ...config, clusterCidrs, ...settings?.['node-ipam'] }),
  },
  'taint-eviction-controller': {
    account: 'node-controller',
    make: (config, { settings }) =>
      new TaintEvictionController({ ...config, ...settings?.['taint-eviction'] }),
  },
  'persistentvolume-binder-controller': {
    account: 'persistent-volume-binder',
    alias: 'persistentvolume-binder',
    make: (config, { settings }) =>
      new PersistentVolumeBinder({ ...config, ...settings?.['persistentvolume-binder'] }),
  },
  'local-provisioner-controller': {
    account: 'local-provisioner',
    alias: 'local-provisioner',
    make: (config) => new LocalProvisioner(config),
  },
  'persistentvolume-attach-detach-controller': {
    account: 'attachdetach-controller',
    alias: 'attachdetach',
    make: (config, { settings }) =>
      new AttachDetachController({ ...config, ...settings?.['attach-detach'] }),
  },
  'persistentvolume-expander-controller': {
    account: 'expand-controller',
    alias: 'persistentvolume-expander',
    make: (config) => new VolumeExpandController(config),
  },
  'persistentvolume-protection-controller': {
    account: 'pv-protection-controller',
    alias: 'pv-protection',
    make: (config) => new PvProtectionController(config),
  },
  'persistentvolumeclaim-protection-controller': {
    account: 'pvc-protection-controller',
    alias: 'pvc-protection',
    make: (config) => new PvcProtectionController(config),
  },
  'volumeattributesclass-protection-controller': {
    account: 'volumeattributesclass-protection-controller',
    make: (config) => new VacProtectionController(config),
  },
  'storage-version-migrator-controller': {
    account: 'storage-version-migrator-controller',
    alias: 'svm',
    make: (config) => new StorageVersionMigrator(config),
  },
  'ttl-controller': {
    account: 'ttl-controller',
    alias: 'ttl',
    make: (config) => new TtlController(config),
  },
  'ttl-after-finished-controller': {
    account: 'ttl-after-finished-controller',
    alias: 'ttl-after-finished',
    make: (config) => new TtlAfterFinishedController(config),
  },
  'pod-garbage-collector-controller': {
    account: 'pod-garbage-collector',
    alias: 'podgc',
    make: (config, { settings }) => new PodGcController({ ...config, ...settings?.['pod-gc'] }),
  },
} as const satisfies Record<string, Entry>;

export type ControllerName = keyof typeof CONTROLLERS;

export const CONTROLLER_NAMES = Object.keys(CONTROLLERS) as readonly ControllerName[];

export function controllerEntry(name: ControllerName): Entry {
  return CONTROLLERS[name];
}
