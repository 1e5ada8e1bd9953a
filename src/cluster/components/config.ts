// The configuration of the components of a cluster besides its API server, and the interface of
// those that run.

import type { Duplex } from 'node:stream';
import type { Client } from '#client/client.ts';
import type { ControllerName } from '#controllers/controllers.ts';
import type { MakeHeartbeats } from '#kubelet/node/heartbeat-batches.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { Decision } from '#scheduler/decisions.ts';
import type { PluginRegistration } from '#scheduler/framework/index.ts';
import type { Simulation } from '#simulation/index.ts';
import type { KeyPair } from '../credentials/pki.ts';
import type { UncaughtErrors } from '../faults/index.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import type { KubeletPorts } from '../nodes/kubelet-ports.ts';
import type { SleepingNodesConfig } from '../nodes/sleeping-nodes.ts';
import type { NodeHeartbeats } from '../nodes/virtual-heartbeats.ts';

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

/** Settings of the controllers and the scheduler. */
export interface ControlConfig {
  /** One range, or one of each family. */
  readonly podCidrs: readonly string[];
  /** One range, or one of each family with a comma between them. */
  readonly serviceCidr: string;
  /** Addresses for services of type LoadBalancer. Default: nodes' addresses. */
  readonly loadBalancerPool?: string;
  /** Whether pods are scheduled. Default: true. */
  readonly scheduler?: boolean;
  /** A KubeSchedulerConfiguration, as its YAML reads. Default: one profile with all defaults. */
  readonly schedulerConfiguration?: unknown;
  /** Plugins that the configuration can name besides the built-in ones. */
  readonly schedulerPlugins?: readonly PluginRegistration[];
  /** The controllers to run (see selectControllers). Default: all. */
  readonly controllers?: readonly ControllerName[];
  /**
   * Others run on the same store: controllers and a scheduler work in one of all that do. Default:
   * false.
   */
  readonly leaderElect?: boolean;
  /** Published in every namespace, and signs what is approved. */
  readonly authority?: KeyPair;
  /**
   * PEM: published in every namespace for pods to verify the API server. Default: the authority's
   * certificate.
   */
  readonly rootCa?: string;
  /** PEM: what signs the tokens of ServiceAccounts. */
  readonly serviceAccountKey?: string;
}

export interface ComponentsConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly clientOf: (user: User, userAgent: string) => Client;
  /** Absent: neither controllers nor scheduler. */
  readonly control?: ControlConfig;
  readonly nodes: readonly ClusterNode[];
  /** The number of the cluster's nodes in this process. */
  readonly nodesInAll: number;
  /**
   * A component that fails, or whose error nothing catches, is restarted, and `failed` stays
   * pending. Absent: a component that ends resolves `failed`, and uncaught errors are left to the
   * process.
   */
  readonly faults?: UncaughtErrors;
  /** Where faults are injected, and where the components register that can be started again. */
  readonly simulation?: Simulation;
  /** '#2', to tell instances of the controllers and the scheduler apart. Default: ''. */
  readonly instance?: string;
  /** Absent: kubelets open no ports. */
  readonly kubeletPorts?: KubeletPorts;
  /** The DNS settings in the pods' resolv.conf. */
  readonly podDns?: PodDns;
  /**
   * On a virtual clock: computes heartbeats of nodes when the clock stops. Absent: kubelets make
   * each of them.
   */
  readonly heartbeats?: NodeHeartbeats;
  /**
   * Makes heartbeats of several nodes at once, on the system clock. Absent: kubelets make each of
   * them.
   */
  readonly makeHeartbeats?: MakeHeartbeats;
  /**
   * The transport of the clients gives events of all kubelets together a small share of the API
   * server. Default: false; each of many kubelets writes fewer events a second then.
   */
  readonly limitsEvents?: boolean;
  /** The components go on from a state: kubelets take over their nodes. Default: false. */
  readonly resumes?: boolean;
  /** Nodes whose kubelets start() does not start. Default: none. */
  readonly stoppedNodes?: ReadonlySet<string>;
  /** Nodes whose kubelets begin when they have something to do. Default: none. */
  readonly sleepingNodes?: SleepingNodesConfig;
  /** Kubelets of simulated nodes begin when they have something to do. Default: at the start. */
  readonly dormantNodes?: boolean;
  /** Called during start() whenever a kubelet has begun, with their number so far. */
  readonly onNodeStarted?: (started: number) => void;
}

export interface PodDns {
  /** Default: 'cluster.local'. */
  readonly clusterDomain?: string;
  /** Addresses of the cluster's DNS server. Absent: pods have the node's. */
  readonly servers?: readonly string[];
}

/** The components of one thread; callers treat all threads alike. */
export interface RunningComponents {
  /** Resolves with the reason if a component ends that should not. */
  readonly failed: Promise<Error>;
  /** Returns the metrics of the controllers and the scheduler in Prometheus' format. */
  metrics(): string | Promise<string>;
  /** Returns the last decisions of the scheduler, latest first. */
  decisions(): readonly Decision[] | Promise<readonly Decision[]>;
  /** A connection to the node's kubelet; undefined if it does not run here. */
  connect(node: string): Duplex | undefined;
  /** The kubelets serve with another certificate. */
  setKubeletCertificate(pair: KeyPair): void;
  /** Idempotent. Containers go on running. Rejects with AggregateError. */
  stop(): Promise<void>;
}
