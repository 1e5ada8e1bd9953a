// The nodes of a cluster, as the composition sees them.

import type { EvictionSettings } from '#kubelet/eviction/settings.ts';
import type { ImageGcPolicy } from '#kubelet/images/image-records.ts';
import type { NodeAddress, ResourceList } from '#api/groups/core/v1/index.ts';
import type { Runtime } from '#cri/index.ts';
import type { AnnouncerSettings, PolicyTableSettings } from '#network/index.ts';
import type { NodeProxySettings } from '#proxy/index.ts';
import type { NodePodNetwork } from './pod-network.ts';

export interface ClusterNode {
  readonly name: string;
  /** Whether the kubelet of this node gets the well-known port. Default: false. */
  readonly first?: boolean;
  readonly runtime: Runtime;
  /** Containers are only pretended: nothing is written for them, and nothing of the machine is looked at. */
  readonly simulated: boolean;
  /** The node's part of the pod range, of each family. */
  readonly podCidrs: readonly [string, ...string[]];
  /** The kubelet's directory. Not used by simulated nodes. */
  readonly rootDir?: string;
  readonly podLogsDir?: string;
  readonly addresses?: readonly NodeAddress[];
  /** Absent: services are not proxied on this node. */
  readonly proxy?: NodeProxySettings;
  /** Absent: this node announces no addresses of load balancers. */
  readonly announcer?: AnnouncerSettings;
  /** Absent: Coxswain does not connect its pods to those of other machines. */
  readonly podNetwork?: NodePodNetwork;
  /** Absent: network policies are not enforced on this node. */
  readonly networkPolicy?: PolicyTableSettings;
  readonly capacity?: ResourceList;
  /** When pods are evicted. Default: upstream's thresholds; never on a simulated node. */
  readonly eviction?: Partial<EvictionSettings>;
  /** The cgroup below which pods get cgroups of their own. Default: the runtime's choice. */
  readonly cgroupRoot?: string;
  /** When unused images are removed. Default: upstream's policy. */
  readonly imageGc?: Partial<ImageGcPolicy>;
}

/** The directory of a real node's logs, which its kubelet serves. */
export const SYSTEM_LOGS_DIR = '/var/log';

/** A node whose pods only pretend to run. */
export interface SimulatedNode {
  readonly name: string;
  /** The node's part of the pod range, of each family. */
  readonly podCidrs: readonly [string, ...string[]];
}
