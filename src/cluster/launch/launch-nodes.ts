// The nodes of `cox up`: the machine itself, and simulated ones.

import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { versionInfo } from '#machinery/version-info.ts';
import type { NodeProxySettings } from '#proxy/index.ts';
import { SimulationJournal } from '#runtime/simulated/journal.ts';
import type { ClusterConfig } from '../composition/cluster-config.ts';
import { type DataDirLayout, proxyTable } from '../data-dir/data-dir.ts';
import { KUBELET_PORT } from '../nodes/kubelet-ports.ts';
import { nodeRanges, type PodRange } from '../flags/network-ranges.ts';
import type { ClusterNode, SimulatedNode } from '../nodes/cluster-node.ts';
import { policyTableOf } from '../nodes/policy-table.ts';
import type { IngressRequest } from '../addons/prepare-ingress.ts';
import { resourceSettings } from '../roles/kubelet/node-resources.ts';
import type { PreparedRuntime } from '../runtimes/prepare-runtime.ts';
import { simulatedNode } from '../nodes/simulated-machine.ts';
import type { StoreChoice } from '../stores/open-storage.ts';
import type { ComponentsRunner } from '../thread/index.ts';
import { UserError } from '../user-error.ts';
import { KUBERNETES_VERSION } from '../version.ts';

/** The settings of `cox up` that concern its nodes. */
export interface LaunchNodesConfig {
  /** The first runs on the runtime chosen, the others are simulated. */
  readonly nodes: number;
  /** The kubelet's directory. Default: in the data directory. */
  readonly rootDir?: string;
  /** Hard thresholds of evictions on this machine. Default: SHARED_MACHINE_HARD. */
  readonly evictionHard?: Readonly<Record<string, string>>;
  /** The cgroup below which pods get cgroups of their own. Default: the runtime's choice. */
  readonly cgroupRoot?: string;
  /**
   * Addresses for services of type LoadBalancer: ranges and networks, with commas between them.
   * Default: the node's.
   */
  readonly loadBalancerPool?: string;
  /** Whether network policies are enforced for pods of this machine. Default: true. */
  readonly networkPolicy?: boolean;
  readonly securePort: number;
  /** The addresses of Ingresses and Gateways. Absent: they are not served. */
  readonly ingress?: IngressRequest;
  readonly store: StoreChoice;
  readonly logger: Logger;
}

/** The port of upstream's proxy for /healthz. */
const PROXY_HEALTH_PORT = 10_256;
/** The port of upstream's proxy for /metrics and /proxyMode. */
const PROXY_STATUS_PORT = 10_249;

/**
 * When pods of this machine are evicted: the cluster does not own the disk, so it waits longer than
 * upstream, whose thresholds of 10 % and 15 % are those of a machine that only runs pods.
 */
const SHARED_MACHINE_HARD = {
  'memory.available': '100Mi',
  'nodefs.available': '1%',
  'nodefs.inodesFree': '1%',
  'imagefs.available': '1%',
  'imagefs.inodesFree': '1%',
};

/** Divides the nodes between the threads. The machine itself belongs to the main thread. */
export function nodesOf(
  config: LaunchNodesConfig,
  layout: DataDirLayout,
  podRange: PodRange,
  first: PreparedRuntime,
  thread: ComponentsRunner | undefined,
  last: (() => Promise<void> | void)[],
): Pick<ClusterConfig, 'nodes' | 'thread'> {
  const { evictionHard = SHARED_MACHINE_HARD, cgroupRoot: root } = config;
  // Invalid thresholds are refused where nothing is evicted, too.
  const { eviction, cgroupRoot } = resourceSettings({
    evictionHard,
    ...(root !== undefined && { cgroupRoot: root }),
  });
  if (cgroupRoot !== undefined && first.simulated)
    throw new UserError('--cgroup-root needs real containers: not --runtime simulated');
  const machine: ClusterNode = {
    name: machineName(),
    first: true,
    runtime: first.runtime,
    simulated: first.simulated,
    podCidrs: nodeRanges(podRange, 0),
    rootDir: config.rootDir === undefined ? layout.kubelet : resolve(config.rootDir),
    podLogsDir: layout.logs,
    ...(eviction !== undefined && !first.simulated && { eviction }),
    ...(cgroupRoot !== undefined && { cgroupRoot }),
    // Below the thresholds images are removed all the same.
    imageGc: { highThresholdPercent: 100 },
    ...(first.network !== undefined && { podNetwork: first.network }),
    ...(first.proxy !== undefined && { proxy: proxyOf(config, layout, podRange, first.proxy) }),
    ...(first.proxy !== undefined &&
      config.loadBalancerPool !== undefined && {
        announcer: { pool: config.loadBalancerPool, id: proxyTable(layout) },
      }),
    ...(config.networkPolicy !== false &&
      first.podNetwork && {
        networkPolicy: policyTableOf(layout, nodeRanges(podRange, 0), first.proxy?.bridge),
      }),
  };
  const others = Array.from({ length: config.nodes - 1 }, (_, index): SimulatedNode => {
    return { name: `simulated-${index + 2}`, podCidrs: nodeRanges(podRange, index + 1) };
  });
  if (thread !== undefined)
    return { nodes: [machine], thread: { components: thread, nodes: others } };
  const path = nodesJournal(config, layout);
  const journal =
    path === undefined ? undefined : new SimulationJournal({ path, logger: config.logger });
  last.push(() => journal?.close());
  const simulation = { clock: systemClock, random: systemRandom, journal };
  return { nodes: [machine, ...others.map((node) => simulatedNode(node, simulation))] };
}

/**
 * Returns the machine's proxy. Each cluster has its own names for rules, so that none changes those
 * of another.
 */
function proxyOf(
  { securePort, ingress }: LaunchNodesConfig,
  layout: DataDirLayout,
  podRange: PodRange,
  { mode, bridge }: NonNullable<PreparedRuntime['proxy']>,
): NodeProxySettings {
  return {
    mode,
    ...(bridge !== undefined && { bridge }),
    table: proxyTable(layout),
    clusterCidrs: podRange.cidr.split(','),
    nodePortAddresses: 'all',
    reservedPorts: [
      securePort,
      KUBELET_PORT,
      PROXY_HEALTH_PORT,
      ...(ingress === undefined ? [] : [ingress.httpPort, ingress.httpsPort]),
    ].map((port) => `tcp/${port}`),
    healthz: { host: '127.0.0.1', port: PROXY_HEALTH_PORT, optional: true },
    status: {
      host: '127.0.0.1',
      port: PROXY_STATUS_PORT,
      optional: true,
      version: versionInfo(KUBERNETES_VERSION.gitVersion),
    },
    // The machine is not the cluster's alone: its limit of connections stays.
    conntrack: { maxPerCore: 0 },
  };
}

/** Returns the file with the containers of simulated nodes; undefined if they are not recorded. */
export function nodesJournal(config: LaunchNodesConfig, layout: DataDirLayout): string | undefined {
  return keepsSimulation(config) && config.nodes > 1
    ? join(layout.simulated, 'nodes.jsonl')
    : undefined;
}

/** Returns whether simulated containers survive a restart: they do if their pods do. */
export function keepsSimulation({ store }: LaunchNodesConfig): boolean {
  return store !== 'memory';
}

/** The machine's name, as a node's name must look. */
export function machineName(): string {
  const name = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-');
  return isDNS1123Subdomain(name).length === 0 ? name : 'node';
}
