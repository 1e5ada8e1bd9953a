// The network of the real nodes: the pod network, the service proxy, the announcer of load
// balancers' addresses and the network policies of each, with a client of its own.

import {
  type AnnouncerSettings,
  keepIptablesHint,
  NodePolicies,
  runAnnouncer,
  runPodNetwork,
} from '#network/index.ts';
import { PROXY_FAMILIES, ProxyMetrics, runNodeProxy } from '#proxy/index.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import type { ComponentsConfig } from './config.ts';
import type { Supervisor } from './supervisor.ts';
import { clientOfUser, componentUser, nodeUser } from './users.ts';

const PROXY = 'kube-proxy';
const ANNOUNCER = 'announcer';
const NETWORK_POLICY = 'network-policy';
const PROXY_USER = componentUser('system:kube-proxy');

interface Services {
  readonly supervisor: Supervisor;
  /** Called when the network of a node has become ready, or no longer is. */
  readonly onChange: (node: string) => void;
}

export class NodeNetwork {
  readonly #config: ComponentsConfig;
  readonly #services: Services;
  /** By node. They outlive kubelets that are restarted. */
  readonly #policies = new Map<string, NodePolicies>();
  readonly #proxyMetrics: ProxyMetrics;

  constructor(config: ComponentsConfig, services: Services) {
    this.#config = config;
    this.#services = services;
    this.#proxyMetrics = new ProxyMetrics({ clock: config.clock, families: PROXY_FAMILIES });
  }

  /** Returns the policies of a node, which its kubelet waits for; undefined if there are none. */
  policiesOf(node: string): NodePolicies | undefined {
    return this.#policies.get(node);
  }

  /** Returns the metrics of the service proxies in Prometheus' format. */
  metrics(): string {
    return this.#config.nodes.some(({ proxy }) => proxy !== undefined)
      ? this.#proxyMetrics.text()
      : '';
  }

  /** Starts before the node's kubelet, which waits for the policies of its pods. */
  startPolicies({ name, networkPolicy: settings }: ClusterNode): void {
    if (settings === undefined) return;
    const { random, logger } = this.#config;
    const { supervisor } = this.#services;
    const label = `${NETWORK_POLICY}/${name}`;
    const policies = new NodePolicies({
      client: clientOfUser(this.#config, componentUser('system:coxswain:network-policy')),
      nodeName: name,
      settings,
      clock: supervisor.clockOf(label),
      random: random.derive(label),
      logger,
    });
    this.#policies.set(name, policies);
    supervisor.supervise(label, 'network', (signal) => policies.run(signal));
  }

  /** Starts everything but the policies. It begins when the node does, but nothing waits for it. */
  start(node: ClusterNode): void {
    this.#startPodNetwork(node);
    if (node.announcer !== undefined) this.#startAnnouncer(node.name, node.announcer);
    this.#startProxy(node);
  }

  /** The node's own client: it writes its own Node, and may read the others'. */
  #startPodNetwork({ name, podNetwork }: ClusterNode): void {
    if (podNetwork === undefined) return;
    const { random, logger } = this.#config;
    const { supervisor, onChange } = this.#services;
    const label = `pod-network/${name}`;
    const clock = supervisor.clockOf(label);
    const client = clientOfUser(this.#config, nodeUser(name));
    supervisor.supervise(`iptables-hint/${name}`, 'network', (signal) =>
      keepIptablesHint({ clock, logger }, signal),
    );
    supervisor.supervise(label, 'network', (signal) =>
      runPodNetwork(
        {
          ...podNetwork,
          client,
          nodeName: name,
          onChange: () => onChange(name),
          clock,
          random: random.derive(label),
          logger,
        },
        signal,
      ),
    );
  }

  #startProxy({ name, proxy: settings }: ClusterNode): void {
    if (settings === undefined) return;
    const { random, logger } = this.#config;
    const { supervisor } = this.#services;
    const label = `${PROXY}/${name}`;
    const clock = supervisor.clockOf(label);
    const client = clientOfUser(this.#config, PROXY_USER);
    const metrics = this.#proxyMetrics;
    supervisor.supervise(label, 'proxy', (signal) =>
      runNodeProxy(
        { client, nodeName: name, settings, metrics, clock, random: random.derive(label), logger },
        signal,
      ),
    );
  }

  #startAnnouncer(name: string, settings: AnnouncerSettings): void {
    const { random, logger } = this.#config;
    const { supervisor } = this.#services;
    const label = `${ANNOUNCER}/${name}`;
    const clock = supervisor.clockOf(label);
    const client = clientOfUser(this.#config, PROXY_USER);
    supervisor.supervise(label, 'network', (signal) =>
      runAnnouncer(
        { client, nodeName: name, settings, clock, random: random.derive(label), logger },
        signal,
      ),
    );
  }
}
