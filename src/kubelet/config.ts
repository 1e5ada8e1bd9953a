// The configuration of a kubelet.

import type { HeartbeatKeeper } from './node/heartbeats.ts';
import type { Client } from '#client/client.ts';
import type { Runtime } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { NetworkReadiness } from './network-readiness.ts';
import type { MachineInfo } from './node/machine.ts';
import type { AccessSettings } from './server/access.ts';
import type { ServerListenConfig } from './server/config.ts';
import type { NodeAddress, ResourceList } from './types.ts';
import type { Mounter } from './volumes/mounter.ts';

export interface KubeletConfig {
  /** Speaks to the API server as the node ('system:node:NAME', group 'system:nodes'). */
  readonly client: Client;
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The name of its Node. */
  readonly nodeName: string;

  /** Where volumes and all else that belongs to pods is kept. Default: /var/lib/kubelet. */
  readonly rootDir?: string;
  /** Where the directories of volumes are that the built-in provisioner makes for this node. Default: ROOT-DIR/local-volumes. */
  readonly localVolumesDir?: string;
  /** Where containers' logs are. Default: /var/log/pods. */
  readonly podLogsDir?: string;
  /** A directory of manifests of pods that run here whatever the API says. Default: none. */
  readonly staticPodPath?: string;
  /** How often that directory is read. Default: 20,000. */
  readonly staticPodCheckMs?: number;
  /**
   * False where containers are only pretended: no volume, hosts file, log directory or termination log is made, since nothing
   * could read it. What volumes and variables refer to is looked up all the same. Default: true.
   */
  readonly hostFiles?: boolean;
  /** False where pods have no network that can be called: HTTP and TCP probes and hooks are taken to succeed. Default: true. */
  readonly podNetwork?: boolean;
  /** Waited for before containers start. Default: nothing. */
  readonly networkReadiness?: NetworkReadiness;
  /** Default: mount(8), as root on Linux. */
  readonly mounter?: Mounter;

  /** The node's addresses. Default: InternalIP for each of the machine's, and Hostname. */
  readonly addresses?: readonly NodeAddress[];
  /** Default: this machine's CPUs, memory and disk. */
  readonly capacity?: ResourceList;
  /** The resources for pods. Default: the capacity, less 100 MiB of memory. */
  readonly allocatable?: ResourceList;
  /** Unless `capacity` says otherwise. Default: 110. */
  readonly maxPods?: number;
  /** Given to the Node when it has none. Default: none. */
  readonly podCIDRs?: readonly string[];
  /** Beside those that every node has. Default: none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** When the Node is made. Default: none. */
  readonly taints?: readonly v1.Taint[];
  /** The Node is made cordoned. Default: false. */
  readonly unschedulable?: boolean;
  /** Default: read from this machine. */
  readonly machine?: Partial<MachineInfo>;
  /** Default: 'v1.36.3'. */
  readonly kubeletVersion?: string;

  /**
   * Addresses of the cluster's DNS service. Default: the cluster has none, and pods get the node's DNS. An empty list: it should
   * have one, and an event of the pods that would use it says so.
   */
  readonly clusterDNS?: readonly string[];
  /** Default: 'cluster.local'. */
  readonly clusterDomain?: string;
  /** The node's resolv.conf. Default: /etc/resolv.conf; '' for none. */
  readonly resolvConf?: string;

  /** The port of the kubelet's HTTPS server. Default: none is opened; `handleConnection` serves all the same. */
  readonly server?: ServerListenConfig;
  /** How requests to that server are authenticated and authorized. Default: see DEFAULT_ACCESS. */
  readonly access?: Partial<AccessSettings>;
  /** The flags of the command by name, without dashes, for /flagz. Absent: there is no /flagz. */
  readonly flags?: Readonly<Record<string, string>> | undefined;
  /** The port in the Node's status. Default: that of the server, or 10250 without one, so that API servers have a number. */
  readonly advertisedPort?: number;

  /** On a virtual clock: makes heartbeats in the kubelet's place while they say nothing new. Default: the kubelet makes them. */
  readonly heartbeatKeeper?: HeartbeatKeeper | undefined;
  /** How often the Node's status is checked and its Lease renewed. Default: 10,000. */
  readonly nodeCheckMs?: number;
  /** How often a Node status that has not changed is reported. Default: 300,000. */
  readonly nodeReportMs?: number;
  /** How often all is listed from a runtime without events. Default: 1,000. */
  readonly relistMs?: number;
  /** So many events a second are sent, after a burst of so many; the others wait. 0: no limit. Default: 50 and 100. */
  readonly eventsPerSecond?: number;
  readonly eventBurst?: number;
  /** How often the kubelet looks for what should not be there. Default: 10,000. */
  readonly housekeepingMs?: number;
  /** The first and the longest delay between restarts of a container. Default: 10,000 and 300,000. */
  readonly restartBackoffMs?: number;
  readonly maxRestartBackoffMs?: number;
  /** A container's log is rotated when it is larger. Default: 10 MiB. */
  readonly containerLogMaxBytes?: number;
  /** So many log files are kept of a container. Default: 5. */
  readonly containerLogMaxFiles?: number;
}

/** The topic (see `setPoll` of the clock) that stirs when the node's pods, or its runtime, may have changed. */
export const kubeletTopic = (nodeName: string): string => `kubelet ${nodeName}`;
