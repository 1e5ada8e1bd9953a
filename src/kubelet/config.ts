// The configuration of a kubelet.

import type { CgroupSystem } from './pod-cgroups/system.ts';
import type { EvictionSettings } from './eviction/settings.ts';
import type { NodeSystem } from './node/system.ts';
import type { CredentialProvider } from './images/credential-provider-config.ts';
import type { PullRate } from './images/image-manager.ts';
import type { ImageGcPolicy } from './images/image-records.ts';
import type { HeartbeatKeeper } from './node/heartbeats.ts';
import type { Client } from '#client/client.ts';
import type { EventCorrelator } from '#client/events/index.ts';
import type { Runtime } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { NetworkReadiness } from './network-readiness.ts';
import type { MachineInfo } from './node/machine.ts';
import type { SwapBehavior } from './runtime/swap.ts';
import type { AccessSettings } from './server/access.ts';
import type { ServerListenConfig } from './server/config.ts';
import type { MachineTopology } from './resource-managers/machine-topology.ts';
import type { ResourceManagerSettings } from './resource-managers/settings.ts';
import type { ShutdownInhibitor } from './shutdown/inhibitor.ts';
import type { ShutdownPeriod } from './shutdown/periods.ts';
import type { HttpHeaders } from './static-pods/http.ts';
import type { Predecessor } from './predecessor.ts';
import type { NodeAddress, ResourceList } from './types.ts';
import type { IdRange } from './user-namespaces/id-ranges.ts';
import type { Mounter } from './volumes/mounter.ts';

/** The default period of heartbeats, in milliseconds. */
export const NODE_CHECK_MS = 10_000;

export interface KubeletConfig {
  /** The client, authenticated as the node ('system:node:NAME', group 'system:nodes'). */
  readonly client: Client;
  readonly runtime: Runtime;
  readonly clock: Clock;
  /**
   * The clock of heartbeats and events. Default: `clock`. With one of its own, timers of `clock`
   * are pending only while the kubelet has something to do.
   */
  readonly backgroundClock?: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The name of its Node. */
  readonly nodeName: string;
  /**
   * The kubelet takes over from one that ran until this moment: it does not announce itself, and
   * reports when that one would have. Default: false.
   */
  readonly takesOver?: boolean;
  /** The dormant kubelet of the same process in whose place this one begins. Implies takesOver. */
  readonly predecessor?: Predecessor;

  /** The directory of volumes and other data of pods. Default: /var/lib/kubelet. */
  readonly rootDir?: string;
  /**
   * The directory in which the built-in provisioner creates volumes on this node. Default:
   * ROOT-DIR/local-volumes.
   */
  readonly localVolumesDir?: string;
  /** The directory of drivers of FlexVolumes. Default: upstream's. */
  readonly flexVolumeDir?: string;
  /** The directory of containers' logs. Default: /var/log/pods. */
  readonly podLogsDir?: string;
  /** A directory with manifests of static pods, which run without the API server. Default: none. */
  readonly staticPodPath?: string;
  /** The time between two reads of that directory, in milliseconds. Default: 20,000. */
  readonly staticPodCheckMs?: number;
  /** A URL (http or https) of the manifests of further static pods. Default: none. */
  readonly staticPodUrl?: string;
  /** Headers of the requests to that URL. They may be secret. */
  readonly staticPodUrlHeaders?: HttpHeaders;
  /** The time between two requests to that URL, in milliseconds. Default: 20,000. */
  readonly staticPodUrlCheckMs?: number;
  /**
   * False for simulated containers: volumes, hosts files, log directories and termination logs are
   * not created, since no process could read them. References of volumes and variables are still
   * resolved. Default: true.
   */
  readonly hostFiles?: boolean;
  /**
   * False if pods have no reachable network: HTTP and TCP probes and hooks then always succeed.
   * Default: true.
   */
  readonly podNetwork?: boolean;
  /** Awaited before containers start. Default: nothing is awaited. */
  readonly networkReadiness?: NetworkReadiness;
  /** Mounts volumes. Default: mount(8), as root on Linux. */
  readonly mounter?: Mounter;

  /**
   * The node's addresses. Default: an InternalIP for each address of the machine, and the Hostname.
   */
  readonly addresses?: readonly NodeAddress[];
  /** Returns the machine's addresses, at each check of the status. Default: asks the machine. */
  readonly readAddresses?: () => readonly string[];
  /** Default: this machine's CPUs, memory and disk. */
  readonly capacity?: ResourceList;
  /** Returns the capacity, pods included, if `capacity` is absent. Default: asks the machine. */
  readonly readCapacity?: () => Promise<ResourceList>;
  /** Resources that pods do not get: for the kubelet, and for the rest of the system. */
  readonly kubeReserved?: ResourceList;
  readonly systemReserved?: ResourceList;
  /** When pods are evicted. Default: upstream's. */
  readonly eviction?: Partial<EvictionSettings>;
  /** Plugins with credentials for images, and the directory of their programs. Default: none. */
  readonly credentialPlugins?: {
    readonly providers: readonly CredentialProvider[];
    readonly directory: string;
  };
  /** When images are removed. Default: upstream's. */
  readonly imageGc?: Partial<ImageGcPolicy>;
  /** The directory of the machine's logs, which the server serves at /logs/. Default: none. */
  readonly systemLogsDir?: string;
  /**
   * The cgroup, '/' or '/NAME', below which pods get cgroups of their own: kubepods with the node's
   * limits, a class of service, the pod. The runtime must use the cgroupfs driver. Default: none,
   * and the runtime chooses.
   */
  readonly cgroupRoot?: string;
  /** Implements cgroups. Default: those of this machine. */
  readonly cgroupSystem?: CgroupSystem;
  /**
   * How CPUs and memory are assigned to single containers. The runtime must apply cpuset_cpus and
   * cpuset_mems. Default: they are not.
   */
  readonly resourceManagers?: ResourceManagerSettings;
  /** The processors and NUMA nodes. Default: those of this machine. */
  readonly machineTopology?: MachineTopology;
  /**
   * The time that pods get to end when the machine shuts down, by priority. Default: pods are not
   * ended, and shutdowns are not delayed.
   */
  readonly shutdownPeriods?: readonly ShutdownPeriod[];
  /** Delays shutdowns of the machine. Default: systemd-logind. */
  readonly shutdownInhibitor?: ShutdownInhibitor;
  /**
   * The number of user IDs of a pod with a user namespace: a multiple of 65,536. Default: 65,536.
   */
  readonly userNamespaceIdsPerPod?: number;
  /** Returns the IDs for user namespaces. Default: asks the machine. */
  readonly subordinateIds?: () => Promise<IdRange | undefined>;
  /** The seccomp profile of containers whose pod asks for none. Default: 'Unconfined'. */
  readonly seccompDefault?: 'RuntimeDefault' | 'Unconfined';
  /** Whether the kernel enforces AppArmor profiles. Default: asks this machine. */
  readonly appArmor?: boolean;
  /** Whether Burstable pods use swap. Default: 'NoSwap'. */
  readonly swapBehavior?: SwapBehavior;
  /** The maximum number of image pulls at a time. Default: any number. */
  readonly maxParallelPulls?: number;
  /** The maximum rate of image pulls. Default: no limit. */
  readonly pullRate?: PullRate;
  /** The maximum number of processes of a pod; needs `cgroupRoot`. Default: no limit. */
  readonly podPidsLimit?: number;
  /** Kernel parameters, or prefixes with '*', that pods may set beside the safe ones. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /**
   * Observes the node's resources. Default: this machine, if containers are real; otherwise no pod
   * is evicted.
   */
  readonly nodeSystem?: NodeSystem;
  /** The resources for pods. Default: the capacity, less 100 MiB of memory. */
  readonly allocatable?: ResourceList;
  /** The maximum number of pods, unless `capacity` has one. Default: 110. */
  readonly maxPods?: number;
  /** The pod ranges for a Node without any. Default: none. */
  readonly podCIDRs?: readonly string[];
  /** Additional labels of the Node. Default: none. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * Whether a cloud controller manager completes the Node: a new Node has the taint that it removes,
   * and the addresses that it has written stay. Default: false.
   */
  readonly externalCloudProvider?: boolean;
  /** Taints of a new Node. Default: none. */
  readonly taints?: readonly v1.Taint[];
  /** A new Node is created as unschedulable. Default: false. */
  readonly unschedulable?: boolean;
  /** Facts about the machine. Default: read from this machine. */
  readonly machine?: Partial<MachineInfo>;
  /** The version in the Node's status. Default: 'v1.36.3'. */
  readonly kubeletVersion?: string;

  /**
   * The addresses of the cluster's DNS service. Default: the cluster has none, and pods use the
   * node's DNS. An empty list means the same, with a warning event for each pod that asks for the
   * cluster's DNS.
   */
  readonly clusterDNS?: readonly string[];
  /** The cluster domain. Default: 'cluster.local'. */
  readonly clusterDomain?: string;
  /** The node's resolv.conf. Default: /etc/resolv.conf; '' for none. */
  readonly resolvConf?: string;

  /**
   * The address of the kubelet's HTTPS server. Default: no port is opened; `handleConnection` works
   * nevertheless.
   */
  readonly server?: ServerListenConfig;
  /**
   * The authentication and authorization of requests to that server. Default: see DEFAULT_ACCESS.
   */
  readonly access?: Partial<AccessSettings>;
  /** Called with the node's addresses at each check of its status. */
  readonly onAddresses?: (addresses: readonly NodeAddress[]) => void;
  /** Which certificates are requested from the API, for /configz. Default: none. */
  readonly requestedCertificates?: { readonly client: boolean; readonly serving: boolean };
  /** Returns further metrics for /metrics, in Prometheus' text format. */
  readonly otherMetrics?: () => string;
  /** The flags of the command by name, without dashes, for /flagz. Absent: there is no /flagz. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The port in the Node's status. Default: the server's port, or 10250 without a server. */
  readonly advertisedPort?: number;

  /**
   * Makes heartbeats in the kubelet's place while they say nothing new.
   * Default: the kubelet makes them.
   */
  readonly heartbeatKeeper?: HeartbeatKeeper;
  /**
   * Heartbeats are at multiples of this time, in milliseconds: kubelets that share a process send
   * theirs together. Default: each node has instants of its own.
   */
  readonly heartbeatTickMs?: number;
  /** How often the Node's status is checked and its Lease renewed. Default: NODE_CHECK_MS. */
  readonly nodeCheckMs?: number;
  /**
   * The time after which an unchanged Node status is reported, in milliseconds. Default: 300,000.
   */
  readonly nodeReportMs?: number;
  /** The time between two lists of a runtime without events, in milliseconds. Default: 1,000. */
  readonly relistMs?: number;
  /**
   * The rate limit for events, per second, and the burst; further events wait. 0: no limit.
   * Default: 50 and 100.
   */
  readonly eventsPerSecond?: number;
  readonly eventBurst?: number;
  /** Combines repeated events. Default: one of this kubelet's own. */
  readonly eventCorrelator?: EventCorrelator;
  /** The time between two housekeeping passes, in milliseconds. Default: 10,000. */
  readonly housekeepingMs?: number;
  /**
   * The time between two looks for CSI volumes that have been expanded, in milliseconds. Default:
   * 30,000.
   */
  readonly expansionCheckMs?: number;
  /**
   * The initial and the maximum delay between restarts of a container, in milliseconds. Default:
   * 10,000 and 300,000.
   */
  readonly restartBackoffMs?: number;
  readonly maxRestartBackoffMs?: number;
  /** The size at which a container's log is rotated, in bytes. Default: 10 MiB. */
  readonly containerLogMaxBytes?: number;
  /** The number of log files per container. Default: 5. */
  readonly containerLogMaxFiles?: number;
}

/**
 * The topic (see `setPoll` of the clock) that stirs when the node's pods, or its runtime, may have
 * changed.
 */
export const kubeletTopic = (nodeName: string): string => `kubelet ${nodeName}`;
