// The configuration of each kubelet, with what the kubelets of one process share.

import { EventCorrelator } from '#client/events/index.ts';
import type { KubeletConfig } from '#kubelet/config.ts';
import { sharedCapacity, sharedMachineAddresses } from '#kubelet/node/machine.ts';
import { HeartbeatBatches } from '#kubelet/node/heartbeat-batches.ts';
import { TlsListeners } from '#kubelet/server/listeners.ts';
import { type Clock, systemClock } from '#machinery/clock.ts';
import { CountingClock } from '#machinery/counting-clock.ts';
import type { KeyPair } from '../credentials/pki.ts';
import { type ClusterNode, SYSTEM_LOGS_DIR } from '../nodes/cluster-node.ts';
import { KUBELET_PORT, MAX_KUBELET_PORTS, nodeAddressesAt } from '../nodes/kubelet-ports.ts';
import { simulatedMachine } from '../nodes/simulated-machine.ts';
import { KUBERNETES_VERSION } from '../version.ts';
import type { ComponentsConfig } from './config.ts';
import type { NodeNetwork } from './node-network.ts';
import type { Supervisor } from './supervisor.ts';
import { clientOfUser, nodeUser } from './users.ts';

/**
 * Kubelets in one process send their heartbeats at multiples of this time: 500 nodes a dozen at
 * once, of which each costs a third of a single one (docs/scale.md).
 */
const HEARTBEAT_TICK_MS = 250;

/**
 * The events that all kubelets of a process remember together, in about a kilobyte each. One
 * kubelet alone remembers 4,096.
 */
const CORRELATED_EVENTS = 32_768;

interface Services {
  readonly supervisor: Pick<Supervisor, 'clockOf'>;
  readonly network: Pick<NodeNetwork, 'policiesOf'>;
}

export class KubeletConfigs {
  readonly #config: ComponentsConfig;
  readonly #services: Services;
  readonly #renewals: HeartbeatBatches | undefined;
  readonly #listeners: TlsListeners | undefined;
  /** The nodes without a port, where others have one. */
  readonly #portless: ReadonlySet<string>;
  /** For the kubelets' checks of their nodes. */
  readonly #readAddresses: () => readonly string[];
  readonly #readCapacity = sharedCapacity();
  readonly #eventCorrelator: EventCorrelator;
  /** By node: what the kubelet's reactions depend on. Only with a simulation. */
  readonly #clocks = new Map<string, CountingClock>();

  constructor(config: ComponentsConfig, services: Services) {
    this.#config = config;
    this.#services = services;
    const { clock, logger, kubeletPorts, makeHeartbeats } = config;
    this.#listeners =
      kubeletPorts === undefined ? undefined : new TlsListeners({ ...kubeletPorts, logger });
    // On a virtual clock the store computes renewals, or each kubelet has a clock of its own.
    if (makeHeartbeats !== undefined && config.nodesInAll > 1 && clock === systemClock) {
      this.#renewals = new HeartbeatBatches({
        clock,
        make: makeHeartbeats,
        tickMs: HEARTBEAT_TICK_MS,
      });
    }
    this.#portless = new Set(config.nodes.slice(MAX_KUBELET_PORTS).map(({ name }) => name));
    this.#readAddresses = sharedMachineAddresses(clock);
    this.#eventCorrelator = new EventCorrelator({ clock, cacheSize: CORRELATED_EVENTS });
  }

  /** See Kubelets.renewedAt. */
  renewedAt(node: string): number | undefined {
    return this.#renewals?.renewedAt(node);
  }

  /** `takesOver`: see KubeletConfig. */
  of(node: ClusterNode, takesOver: boolean): KubeletConfig {
    const { random, logger, podDns } = this.#config;
    const { supervisor, network } = this.#services;
    const backgroundClock = supervisor.clockOf(`kubelet/${node.name}`);
    const policies = network.policiesOf(node.name);
    return {
      client: clientOfUser(this.#config, nodeUser(node.name)),
      runtime: node.runtime,
      clock: this.#countedClockOf(node.name, backgroundClock),
      backgroundClock,
      random: random.derive(`kubelet/${node.name}`),
      logger,
      nodeName: node.name,
      takesOver,
      podCIDRs: node.podCidrs,
      kubeletVersion: KUBERNETES_VERSION.gitVersion,
      hostFiles: !node.simulated,
      podNetwork: !node.simulated,
      ...(policies !== undefined && { networkReadiness: policies }),
      clusterDNS: podDns?.servers,
      clusterDomain: podDns?.clusterDomain,
      ...this.#rates(),
      readAddresses: this.#readAddresses,
      ...(node.simulated
        ? { machine: simulatedMachine(node.name), readCapacity: this.#readCapacity }
        : { systemLogsDir: SYSTEM_LOGS_DIR }),
      ...settingsOf(node),
      ...this.#reachedBy(node),
      heartbeatKeeper: this.#renewals ?? (node.simulated ? this.#config.heartbeats : undefined),
    };
  }

  /** Returns the reactions that the node's kubelet has still to do; undefined without a simulation. */
  pendingReactions(node: string): number | undefined {
    return this.#clocks.get(node)?.pending;
  }

  /** The kubelets serve with another certificate. */
  setCertificate(pair: KeyPair): void {
    this.#listeners?.setServingCertificate(pair);
  }

  /** Kubelets that share a process do some things less often, or together. */
  #rates(): Partial<KubeletConfig> {
    const { nodesInAll, limitsEvents, clock } = this.#config;
    return {
      ...(limitsEvents !== true && eventPace(nodesInAll)),
      // On a virtual clock no two nodes share an instant (see HeartbeatGrid), and each has a clock.
      ...(nodesInAll > 1 &&
        clock === systemClock && {
          heartbeatTickMs: HEARTBEAT_TICK_MS,
          eventCorrelator: this.#eventCorrelator,
        }),
    };
  }

  /** The addresses of a node and its port. */
  #reachedBy(node: ClusterNode): Partial<KubeletConfig> {
    const nodeAddress = this.#config.kubeletPorts?.nodeAddress;
    const listeners = this.#listeners;
    return {
      ...(nodeAddress !== undefined && { addresses: nodeAddressesAt(nodeAddress, node.name) }),
      ...(node.addresses !== undefined && { addresses: node.addresses }),
      ...(listeners !== undefined &&
        (this.#portless.has(node.name)
          ? { advertisedPort: 0 }
          : {
              server: {
                listeners,
                port: node.first === true ? KUBELET_PORT : 0,
                orFreePort: true,
                // Without a port the cluster still works: the API server reaches its kubelets in
                // the process.
                optional: true,
              },
            })),
    };
  }

  #countedClockOf(node: string, clock: Clock): Clock {
    if (this.#config.simulation === undefined) return clock;
    const counting = new CountingClock(clock);
    this.#clocks.set(node, counting);
    return counting;
  }
}

/** Returns the settings that a node has of its own. */
function settingsOf(node: ClusterNode): Partial<KubeletConfig> {
  return {
    ...(node.rootDir !== undefined && { rootDir: node.rootDir }),
    ...(node.eviction !== undefined && { eviction: node.eviction }),
    ...(node.cgroupRoot !== undefined && { cgroupRoot: node.cgroupRoot }),
    ...(node.imageGc !== undefined && { imageGc: node.imageGc }),
    ...(node.podLogsDir !== undefined && { podLogsDir: node.podLogsDir }),
    ...(node.capacity !== undefined && { capacity: node.capacity }),
  };
}

/**
 * Returns the rate limit of events for each of so many kubelets. A kubelet alone has Kubernetes'
 * limit: 50 events a second after 100 at once. Many kubelets share this process, and their events
 * must not delay pods.
 */
function eventPace(nodes: number): {
  readonly eventsPerSecond: number;
  readonly eventBurst: number;
} {
  return {
    eventsPerSecond: Math.min(50, Math.max(1, 100 / nodes)),
    eventBurst: Math.min(100, Math.max(1, Math.floor(200 / nodes))),
  };
}
