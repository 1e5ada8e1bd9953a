// The configuration of a cluster in one process.

import type { ApiServerConfig } from '#apiserver/config.ts';
import type { RuntimeConfig } from '#apiserver/runtime-config.ts';
import type { ControllerName } from '#controllers/controllers.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { PluginRegistration } from '#scheduler/framework/index.ts';
import type { Simulation } from '#simulation/index.ts';
import type { Storage } from '#storage/interface.ts';
import type { AccessSettings } from '../access/index.ts';
import type { ApiWorkersSettings } from '../api-workers/index.ts';
import type { DnsSettings } from '../addons/dns.ts';
import type { IngressSettings } from '../addons/ingress.ts';
import type { ConsoleSettings } from '../console/console.ts';
import type { Pki } from '../credentials/pki.ts';
import type { CsiSettings } from '../addons/csi.ts';
import type { UncaughtErrors } from '../faults/index.ts';
import type { ClusterNode, SimulatedNode } from '../nodes/cluster-node.ts';
import type { KubeletPorts } from '../nodes/kubelet-ports.ts';
import type { SleepingNodesConfig } from '../nodes/sleeping-nodes.ts';
import type { Encryption } from '../stores/encryption.ts';
import type { ComponentsRunner } from '../thread/index.ts';

export interface ClusterConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Closed when the cluster stops. */
  readonly storage: Storage;
  /**
   * Needed by `listen`. With it, the authority's certificate is published in every namespace, and
   * pods get a token of their ServiceAccount.
   */
  readonly pki?: Pki;
  /** Absent: no port is opened. Port 0: any that is free. */
  readonly listen?: { readonly bindAddress: string; readonly port: number };
  /**
   * Processes that serve the API beside this one. They need `listen`. Default: there are none.
   */
  readonly apiWorkers?: ApiWorkersSettings;
  /** The ports of the kubelets. Absent: they open no ports. */
  readonly kubeletPorts?: KubeletPorts;
  /** The cluster's DNS server. Absent: there is none, and pods have the node's. */
  readonly dns?: DnsSettings;
  /** Ingresses and Gateways are served. Absent: they are not. */
  readonly ingress?: IngressSettings;
  /** The reference CSI driver runs on this machine's node. Absent: it does not. */
  readonly csi?: CsiSettings;
  /** Default: 'cluster.local'. With `dns`, it is that of the server. */
  readonly clusterDomain?: string;
  /** Their runtimes are closed when the cluster stops. */
  readonly nodes: readonly ClusterNode[];
  /**
   * A thread beside this one for the controllers, the scheduler and these nodes; it ends with the
   * cluster. Default: all are in this thread. Plugins of the scheduler cannot go there.
   */
  readonly thread?: {
    readonly components: ComponentsRunner;
    readonly nodes: readonly SimulatedNode[];
  };
  readonly podCidrs: readonly string[];
  /** One range, or one of each family with a comma between them. */
  readonly serviceCidr: string;
  /**
   * Addresses for services of type LoadBalancer, in the format of IpPool.parse. Default: nodes'
   * addresses.
   */
  readonly loadBalancerPool?: string;
  /** A KubeSchedulerConfiguration, as its YAML reads. Default: one profile with all defaults. */
  readonly schedulerConfiguration?: unknown;
  /** Plugins that the configuration can name besides the built-in ones. */
  readonly schedulerPlugins?: readonly PluginRegistration[];
  /** The served groups, versions and resources. Default: stable versions. */
  readonly runtimeConfig?: RuntimeConfig;
  /** The controllers to run (see selectControllers). Default: all. */
  readonly controllers?: readonly ControllerName[];
  /**
   * Others run on the same store: controllers and a scheduler work in one of all that do. Default:
   * false.
   */
  readonly leaderElect?: boolean;
  /**
   * Where faults are injected. The storage has to be the simulation's. Absent: nothing can be
   * injected.
   */
  readonly simulation?: Simulation;
  /**
   * So many instances of the controllers and the scheduler run, of which one leads. Default: 1.
   * More than one needs `leaderElect`, and no `thread`.
   */
  readonly controlPlanes?: number;
  /** See ComponentsConfig. Also counts the errors of the other thread, which has its own. */
  readonly faults?: UncaughtErrors;
  /**
   * The cluster goes on from the state of another one, which `storage` and the runtimes of the
   * nodes have. Absent: it is new.
   */
  readonly resume?: ResumeConfig;
  /**
   * start() waits for the nodes to be ready until no further one has become so for this time.
   * Default: 60,000.
   */
  readonly readyTimeoutMs?: number;
  readonly audit?: ApiServerConfig['audit'];
  /** The control of access. Default: the API server's own defaults. */
  readonly access?: Partial<AccessSettings> & Pick<AccessSettings, 'config'>;
  /** The encryption of the storage, for its health, metrics and files. Default: there is none. */
  readonly encryption?: Pick<Encryption, 'checks' | 'metrics' | 'keepLoaded'>;
  /** The web console, at /console/ of the port. Absent, or without a port: there is none. */
  readonly console?: ConsoleSettings;
  /** Parts of the API server that are functions of the program. Default: none. */
  readonly inProcess?: Pick<ApiServerConfig, 'localWebhooks' | 'localAuthorizer' | 'wrapHandler'>;
  /** Called with what start() is doing. */
  readonly progress?: (step: StartProgress) => void;
}

/**
 * How a cluster goes on from a state. It is begun with `beginServer` and `beginComponents` when it
 * is needed, instead of `begin`; then it writes nothing on its own that the other cluster would not
 * have written.
 */
export interface ResumeConfig {
  /**
   * Awaited before each request of the program. `method`: of HTTP. Undefined: nothing has to be
   * waited for.
   */
  readonly beforeRequest: (method: string, path: string) => Promise<void> | undefined;
  /** Nodes whose kubelets do not run. */
  readonly stoppedNodes: ReadonlySet<string>;
  readonly sleepingNodes?: SleepingNodesConfig;
}

/** A step of the start. With `total`: so many of so many are done. */
export interface StartProgress {
  readonly step: 'starting the API server' | 'starting nodes' | 'waiting for nodes to be ready';
  readonly done?: number;
  readonly total?: number;
}
