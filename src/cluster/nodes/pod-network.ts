// Decides how the pods of a real node are connected: settings from flags, and what the container runtime of the node
// needs.

import type { Logger } from '#machinery/log.ts';
import { type IpFamily, parseCidr } from '#machinery/net/ip.ts';
import {
  type CniTarget,
  cleanPodNetwork,
  DEFAULT_VXLAN_ID,
  DEFAULT_VXLAN_PORT,
  NodeNetwork,
  type PodNetworkMode,
  podNetworkNames,
  type PodNetworkSettings,
  removeBridgeNetwork,
  systemPodNetwork,
} from '#network/index.ts';
import { findProgram } from '../machine/install.ts';
import { UserError } from '../user-error.ts';

/** Choices of the user. */
export interface PodNetworkFlags {
  /**
   * Default: 'auto' with a private containerd; with another runtime 'none', since it has a configuration of its own.
   */
  readonly podNetwork?: PodNetworkMode;
  readonly vxlanId?: number;
  readonly vxlanPort?: number;
  /** Ranges of all pods. Empty: unknown. */
  readonly clusterCidrs: readonly string[];
  /** Ranges of services. Empty: unknown. */
  readonly serviceCidrs: readonly string[];
}

/** The pod network of a node, for the component that keeps it. */
export interface NodePodNetwork {
  readonly settings: PodNetworkSettings;
  readonly cni: CniTarget;
}

/**
 * The directory in which every container runtime looks for a network by default; plugins of a
 * cluster write to it, too.
 */
export const SYSTEM_CNI = { confDir: '/etc/cni/net.d', binDir: '/opt/cni/bin' } as const;

/**
 * @param dir of the container runtime: names follow from it
 * @param confDir where the runtime reads its network configuration
 */
export function nodePodNetwork(
  flags: PodNetworkFlags,
  dir: string,
  confDir: string,
): NodePodNetwork | undefined {
  const {
    podNetwork: mode = 'auto',
    vxlanId = DEFAULT_VXLAN_ID,
    vxlanPort = DEFAULT_VXLAN_PORT,
  } = flags;
  if (mode === 'none') return undefined;
  const { clusterCidrs, serviceCidrs } = flags;
  return {
    settings: { mode, names: podNetworkNames(dir), vxlanId, vxlanPort, clusterCidrs, serviceCidrs },
    // Without iptables on the host, pods would not start with the plugin that maps host ports.
    cni: { confDir, dataDir: dir, hostPorts: findProgram('iptables') !== undefined },
  };
}

/**
 * Writes the network configuration of a node whose ranges are known before its container runtime
 * starts.
 */
export async function preparePodNetwork(
  network: NodePodNetwork,
  podCidrs: readonly string[],
  logger: Logger,
): Promise<void> {
  const node = new NodeNetwork({
    ...network,
    nodeName: 'self',
    system: systemPodNetwork(),
    logger,
  });
  await node.prepare(podCidrs);
}

/** Takes the pod network off this machine. Idempotent. Call it when no pod is left. */
export async function removePodNetwork(dir: string): Promise<void> {
  await cleanPodNetwork(dir);
  await removeBridgeNetwork({ bridge: podNetworkNames(dir).bridge, dataDir: dir });
}

/** Returns one range, or one of each family. Throws UserError, which names the flag. */
export function parsePodRanges(flag: string, text: string): readonly string[] {
  const families = new Set<IpFamily>();
  const cidrs = text.split(',').map((cidr) => cidr.trim());
  for (const cidr of cidrs) {
    const range = parseCidr(cidr);
    if (range === undefined || families.has(range.family))
      throw new UserError(
        `${flag} takes one range, or one of each family, such as 10.244.0.0/16,fd00:10:244::/56, not '${text}'`,
      );
    families.add(range.family);
  }
  return cidrs;
}
