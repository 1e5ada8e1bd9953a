// The components of a cluster besides its API server: controllers, scheduler and kubelets, each
// made from its Config with a client of its own. Only the clients know whether the API server is in
// this thread or in another.

import { errorMessage } from '#machinery/error-message.ts';
import { hostname } from 'node:os';
import type { Duplex } from 'node:stream';
import { API_SERVER_USER } from '#apiserver/server-user.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { EventCorrelator } from '#client/events/index.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import { ControllerManager } from '#controllers/controller-manager.ts';
import { ControllerManagerMetrics } from '#controllers/metrics.ts';
import {
  CONTROLLER_NAMES,
  controllerEntry,
  type ControllerName,
} from '#controllers/controllers.ts';
import type { KubeletConfig } from '#kubelet/config.ts';
import { Kubelet } from '#kubelet/kubelet.ts';
import { sharedCapacity, sharedMachineAddresses } from '#kubelet/node/machine.ts';
import { RenewalBatches, type RenewLeases } from '#kubelet/node/renewal-batches.ts';
import { TlsListeners } from '#kubelet/server/listeners.ts';
import { type Clock, systemClock } from '#machinery/clock.ts';
import { CountingClock } from '#machinery/counting-clock.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import type { Logger } from '#machinery/log.ts';
import { IpPool } from '#machinery/net/ip-pool.ts';
import type { Random } from '#machinery/random.ts';
import {
  type AnnouncerSettings,
  NodePolicies,
  runAnnouncer,
  keepIptablesHint,
  runPodNetwork,
} from '#network/index.ts';
import { PROXY_FAMILIES, ProxyMetrics, runNodeProxy } from '#proxy/index.ts';
import type { PluginRegistration } from '#scheduler/framework/index.ts';
import type { Simulation } from '#simulation/index.ts';
import { type Decision, DecisionLog } from '#scheduler/decisions.ts';
import { SchedulerMetrics } from '#scheduler/metrics/scheduler-metrics.ts';
import { Scheduler } from '#scheduler/scheduler.ts';
import { keepRunning, RestartBackoff, type UncaughtErrors } from './faults/index.ts';
import type { NodeHeartbeats } from './nodes/virtual-heartbeats.ts';
import {
  KUBELET_PORT,
  type KubeletPorts,
  MAX_KUBELET_PORTS,
  nodeAddressesAt,
} from './nodes/kubelet-ports.ts';
import { type ClusterNode, SYSTEM_LOGS_DIR } from './nodes/cluster-node.ts';
import type { KeyPair } from './credentials/pki.ts';
import { type AwakeKubelet, DormantNodes } from './nodes/dormant-nodes.ts';
import { Restartable } from './restartable.ts';
import { leading } from './roles/leading.ts';
import { SleepingNodes, type SleepingNodesConfig } from './nodes/sleeping-nodes.ts';
import { simulatedMachine } from './nodes/simulated-machine.ts';
import { forEachOf } from './nodes/slots.ts';
import { KUBERNETES_VERSION } from './version.ts';

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
   * Renews Leases of several nodes at once, on the system clock. Absent: kubelets make each
   * renewal.
   */
  readonly renewLeases?: RenewLeases;
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

/**
 * Kubelets that begin at the same time. A kubelet that begins reads its pods and brings all of them
 * together with what runs: a thousand at once would keep each other from being done before their
 * requests time out.
 */
const STARTING_KUBELETS = 16;

/**
 * Kubelets in one process send their heartbeats at multiples of this time: 500 nodes a dozen at
 * once, of which each costs a third of a single one (docs/scale.md).
 */
const HEARTBEAT_TICK_MS = 250;

/** The user agent of kubelets. */
export const KUBELET_AGENT = 'kubelet';

/**
 * The events that all kubelets of a process remember together, in about a kilobyte each. One
 * kubelet alone remembers 4,096.
 */
const CORRELATED_EVENTS = 32_768;

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

const AUTHENTICATED = 'system:authenticated';
const CONTROLLER_MANAGER = 'controller-manager';
const CONTROLLER_MANAGER_USER = 'system:kube-controller-manager';
const SCHEDULER = 'scheduler';
const PROXY = 'kube-proxy';
const ANNOUNCER = 'announcer';
const NETWORK_POLICY = 'network-policy';

/** The component that a user is, as it calls itself: the owner of the fields that it writes. */
export function componentOf(user: string): string {
  if (user.startsWith('system:node:')) return KUBELET_AGENT;
  return user.startsWith('system:') ? user.slice('system:'.length) : 'coxswain';
}

export class Components implements RunningComponents {
  readonly #config: ComponentsConfig;
  readonly #abort = new AbortController();
  /** By name. */
  readonly #nodes: ReadonlyMap<string, ClusterNode>;
  readonly #kubelets = new Map<string, Kubelet>();
  readonly #renewals: RenewalBatches | undefined;
  readonly #listeners: TlsListeners | undefined;
  /** The nodes without a port, where others have one. */
  readonly #portless: ReadonlySet<string>;
  /** The controllers and the scheduler, which run until they are aborted. */
  readonly #running: Promise<void>[] = [];
  /** By node. They outlive kubelets that are restarted. */
  readonly #policies = new Map<string, NodePolicies>();
  /** By node: kubelets that are being restarted after an error. */
  readonly #restarts = new Map<string, Promise<void>>();
  readonly #backoffs = new Map<string, RestartBackoff>();
  /** For the kubelets' checks of their nodes. */
  readonly #readAddresses: () => readonly string[];
  readonly #readCapacity = sharedCapacity();
  readonly #eventCorrelator: EventCorrelator;
  /** By node: what the kubelet's reactions depend on. Only with a simulation. */
  readonly #clocks = new Map<string, CountingClock>();
  readonly #sleeping: SleepingNodes | undefined;
  readonly #dormant: DormantNodes | undefined;
  readonly #schedulerMetrics: SchedulerMetrics;
  readonly #decisions: DecisionLog;
  readonly #controllerMetrics: ControllerManagerMetrics;
  readonly #proxyMetrics: ProxyMetrics;
  #stopping: Promise<void> | undefined;
  #fail: (reason: Error) => void = () => undefined;
  readonly failed: Promise<Error>;

  constructor(config: ComponentsConfig) {
    this.#config = config;
    this.#nodes = new Map(config.nodes.map((node) => [node.name, node]));
    const { clock, logger, kubeletPorts } = config;
    this.#listeners =
      kubeletPorts === undefined ? undefined : new TlsListeners({ ...kubeletPorts, logger });
    // On a virtual clock the store computes renewals, or each kubelet has a clock of its own.
    if (config.renewLeases !== undefined && config.nodesInAll > 1 && clock === systemClock) {
      this.#renewals = new RenewalBatches({
        clock,
        renew: config.renewLeases,
        tickMs: HEARTBEAT_TICK_MS,
      });
    }
    this.#portless = new Set(config.nodes.slice(MAX_KUBELET_PORTS).map(({ name }) => name));
    sharedByMany(this.#abort.signal);
    this.#readAddresses = sharedMachineAddresses(clock);
    this.#eventCorrelator = new EventCorrelator({ clock, cacheSize: CORRELATED_EVENTS });
    this.failed = new Promise((resolve) => (this.#fail = resolve));
    const { sleepingNodes, simulation } = config;
    if (sleepingNodes !== undefined)
      this.#sleeping = new SleepingNodes({
        ...sleepingNodes,
        clock,
        simulation,
        signal: this.#abort.signal,
        begin: (name) => this.#startNode(this.#nodeNamed(name), true),
        onError: (error) => this.#fail(error),
      });
    if (config.dormantNodes === true) this.#dormant = this.#makeDormantNodes();
    this.#schedulerMetrics = new SchedulerMetrics({ clock });
    this.#decisions = new DecisionLog(clock);
    this.#controllerMetrics = new ControllerManagerMetrics({ clock });
    this.#proxyMetrics = new ProxyMetrics({ clock, families: PROXY_FAMILIES });
  }

  /**
   * Once. Resolves when the kubelets have begun. Throws what is wrong with the scheduler's
   * configuration.
   */
  async start(): Promise<void> {
    const { control, nodes, onNodeStarted } = this.#config;
    if (control !== undefined) this.#startControl(control);
    let started = 0;
    for (const node of nodes) this.#startPolicies(node);
    const { resumes = false, stoppedNodes } = this.#config;
    const running = nodes.filter(
      ({ name }) => stoppedNodes?.has(name) !== true && this.#sleeping?.has(name) !== true,
    );
    this.#sleeping?.start();
    const dormant = this.#dormant;
    const later = dormant === undefined ? [] : running.filter(({ simulated }) => simulated);
    await Promise.all([
      dormant?.start(
        later.map(({ name }) => name),
        (count) => onNodeStarted?.(started + count),
      ),
      forEachOf(
        running.filter((node) => !later.includes(node)),
        STARTING_KUBELETS,
        async (node) => {
          await this.#startNode(node, resumes);
          onNodeStarted?.(++started);
        },
      ),
    ]);
    for (const node of nodes) {
      this.#startPodNetwork(node);
      this.#startProxy(node);
    }
  }

  #makeDormantNodes(): DormantNodes {
    const { random, logger } = this.#config;
    return new DormantNodes({
      // Controllers may follow all objects.
      client: this.#clientOf(component(CONTROLLER_MANAGER_USER), 'dormant-nodes'),
      clock: this.#clockOf('dormant-nodes'),
      random: random.derive('dormant-nodes'),
      logger,
      signal: this.#abort.signal,
      kubelet: (name) => this.#kubeletConfig(this.#nodeNamed(name), false),
      begin: async (name, config) => {
        await this.#runKubelet(this.#nodeNamed(name), config);
        return this.#awakeKubelet(name);
      },
      onError: (name, error) => {
        if (this.#config.faults === undefined)
          this.#fail(error instanceof Error ? error : new Error(String(error)));
        else this.#beginRestart(this.#nodeNamed(name));
      },
    });
  }

  /** The node's own client: it writes its own Node, and may read the others'. */
  #startPodNetwork({ name, podNetwork }: ClusterNode): void {
    if (podNetwork === undefined) return;
    const { random, logger } = this.#config;
    const label = `pod-network/${name}`;
    const clock = this.#clockOf(label);
    const client = this.#clientOf(nodeUser(name));
    const onChange = (): void => this.#kubelets.get(name)?.checkNode();
    this.#supervise(`iptables-hint/${name}`, 'network', (signal) =>
      keepIptablesHint({ clock, logger }, signal),
    );
    this.#supervise(label, 'network', (signal) =>
      runPodNetwork(
        {
          ...podNetwork,
          client,
          nodeName: name,
          onChange,
          clock,
          random: random.derive(label),
          logger,
        },
        signal,
      ),
    );
  }

  /** The proxy begins when the node does, but nothing waits for it. */
  #startProxy({ name, proxy: settings, announcer }: ClusterNode): void {
    if (announcer !== undefined) this.#startAnnouncer(name, announcer);
    if (settings === undefined) return;
    const { random, logger } = this.#config;
    const label = `${PROXY}/${name}`;
    const clock = this.#clockOf(label);
    const client = this.#clientOf(component('system:kube-proxy'));
    const metrics = this.#proxyMetrics;
    this.#supervise(label, 'proxy', (signal) =>
      runNodeProxy(
        { client, nodeName: name, settings, metrics, clock, random: random.derive(label), logger },
        signal,
      ),
    );
  }

  #startAnnouncer(name: string, settings: AnnouncerSettings): void {
    const { random, logger } = this.#config;
    const label = `${ANNOUNCER}/${name}`;
    const clock = this.#clockOf(label);
    const client = this.#clientOf(component('system:kube-proxy'));
    this.#supervise(label, 'network', (signal) =>
      runAnnouncer(
        { client, nodeName: name, settings, clock, random: random.derive(label), logger },
        signal,
      ),
    );
  }

  /** Starts before the node's kubelet, which waits for the policies of its pods. */
  #startPolicies({ name, networkPolicy: settings }: ClusterNode): void {
    if (settings === undefined) return;
    const { random, logger } = this.#config;
    const label = `${NETWORK_POLICY}/${name}`;
    const policies = new NodePolicies({
      client: this.#clientOf(component('system:coxswain:network-policy')),
      nodeName: name,
      settings,
      clock: this.#clockOf(label),
      random: random.derive(label),
      logger,
    });
    this.#policies.set(name, policies);
    this.#supervise(label, 'network', (signal) => policies.run(signal));
  }

  #startControl(control: ControlConfig): void {
    const { clock, random, logger, simulation, instance = '' } = this.#config;
    const { authority, serviceAccountKey } = control;
    const renewals = this.#renewals;
    if (simulation !== undefined) {
      for (const controller of control.controllers ?? CONTROLLER_NAMES) {
        const { account } = controllerEntry(controller);
        if (account !== undefined)
          simulation.register(`${CONTROLLER_MANAGER}${instance}/${account}`);
      }
    }
    const schedulerRandom = random.derive('scheduler');
    const managerClient = this.#clientOf(component(CONTROLLER_MANAGER_USER));
    const managerClock = this.#clockOf(CONTROLLER_MANAGER);
    const controllers = new ControllerManager({
      client: managerClient,
      clientOf: (account) => this.#clientOf(...controllerIdentity(account)),
      metrics: this.#controllerMetrics,
      clock: managerClock,
      random: random.derive('controller-manager'),
      logger: logger.with({ component: 'controller-manager' }),
      ...(control.controllers !== undefined && { controllers: control.controllers }),
      rootCa: control.rootCa ?? authority?.cert,
      ...(authority !== undefined && { signing: { authority } }),
      ...(serviceAccountKey !== undefined && { serviceAccountKey }),
      clusterCidrs: control.podCidrs,
      settings: {
        'node-ipam': { serviceCidrs: control.serviceCidr.split(',') },
        'node-lifecycle': {
          takesOver: this.#config.resumes ?? false,
          ...(this.#config.heartbeats !== undefined && {
            isAlive: (name) => this.#config.heartbeats?.isKept(name) === true,
          }),
          ...(renewals !== undefined && { renewedAt: (name) => renewals.renewedAt(name) }),
        },
        ...(control.loadBalancerPool !== undefined && {
          'service-lb': { pool: IpPool.parse(control.loadBalancerPool) },
        }),
      },
    });
    const schedulerClient = this.#clientOf(component('system:kube-scheduler'));
    const schedulerLogger = logger.with({ component: 'scheduler' });
    const schedulerClock = this.#clockOf(SCHEDULER);
    const makeScheduler = (): Scheduler =>
      new Scheduler({
        client: schedulerClient,
        informers: new SharedInformerFactory({
          client: schedulerClient,
          clock: schedulerClock,
          random: schedulerRandom,
          logger: schedulerLogger,
        }),
        clock: schedulerClock,
        random: schedulerRandom,
        logger: schedulerLogger,
        configuration: control.schedulerConfiguration,
        plugins: control.schedulerPlugins,
        metrics: this.#schedulerMetrics,
        decisions: this.#decisions,
      });
    // Checks the configuration now, so that errors are reported at once and not when the scheduler
    // becomes the leader.
    makeScheduler();
    const { leaderElect = false } = control;
    // A simulated cluster has the same history on every machine.
    const host = simulation === undefined ? hostname() : `control-plane${instance}`;
    const identity = `${host}_${random.derive('identity').uuid()}`;
    const lead =
      (name: string, client: Client, work: (held: AbortSignal) => Promise<void>) =>
      (signal: AbortSignal): Promise<void> =>
        leading(
          {
            client,
            clock,
            random,
            logger,
            component: name,
            identity,
            settings: { leaderElect },
            work,
          },
          signal,
        );
    const runControllers = lead('kube-controller-manager', managerClient, (held) =>
      controllers.run(held),
    );
    this.#supervise(CONTROLLER_MANAGER, 'controllers', runControllers);
    if (control.scheduler === false) return;
    const runScheduler = lead('kube-scheduler', schedulerClient, (held) =>
      makeScheduler().run(held),
    );
    this.#supervise(SCHEDULER, 'scheduler', runScheduler);
  }

  metrics(): string {
    if (this.#config.control === undefined) return '';
    const proxies = this.#config.nodes.some(({ proxy }) => proxy !== undefined)
      ? this.#proxyMetrics.text()
      : '';
    return this.#schedulerMetrics.text() + this.#controllerMetrics.text() + proxies;
  }

  decisions(): readonly Decision[] {
    return this.#decisions.read();
  }

  setKubeletCertificate(pair: KeyPair): void {
    this.#listeners?.setServingCertificate(pair);
  }

  /** Resolves when the kubelet of the node runs, if the node was asleep. */
  wakeNode(node: string): Promise<void> {
    return this.#sleeping?.wake(node) ?? Promise.resolve();
  }

  /**
   * Returns the nodes whose kubelets do nothing but report themselves until their pods change. Only
   * with a simulation.
   */
  quietNodes(): ReadonlySet<string> {
    const quiet = new Set(this.#sleeping?.names());
    for (const [name, kubelet] of this.#kubelets)
      if (this.#clocks.get(name)?.pending === 0 && !kubelet.followsObjects) quiet.add(name);
    return quiet;
  }

  connect(node: string): Duplex | undefined {
    const [near, far] = duplexPair();
    return this.accept(node, far) ? near : undefined;
  }

  /**
   * The API server talks to the node's kubelet over this connection. False: there is no such
   * kubelet here.
   */
  accept(node: string, connection: Duplex): boolean {
    const waking = this.#dormant?.wake(node);
    if (waking !== undefined) {
      waking.then(
        () => {
          if (!this.accept(node, connection)) connection.destroy();
        },
        (error: unknown) => connection.destroy(new Error(errorMessage(error))),
      );
      return true;
    }
    const kubelet = this.#kubelets.get(node);
    kubelet?.handleConnection(connection, API_SERVER_USER);
    return kubelet !== undefined;
  }

  /**
   * Silences the node, as if its kubelet had crashed: it sends nothing to the API, and its
   * containers run on. Idempotent.
   */
  async stopNode(name: string): Promise<void> {
    await this.#sleeping?.forget(name);
    const kubelet = this.#kubelets.get(this.#nodeNamed(name).name);
    this.#kubelets.delete(name);
    await kubelet?.stop();
  }

  /** A kubelet for a node that was stopped: it finds what runs there. Idempotent. */
  async startNode(name: string): Promise<void> {
    const node = this.#nodeNamed(name);
    await this.wakeNode(name);
    if (!this.#kubelets.has(name)) await this.#startNode(node);
  }

  #nodeNamed(name: string): ClusterNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new TypeError(`the cluster has no node ${JSON.stringify(name)}`);
    return node;
  }

  #startNode(node: ClusterNode, takesOver = false): Promise<void> {
    return this.#runKubelet(node, this.#kubeletConfig(node, takesOver));
  }

  #kubeletConfig(node: ClusterNode, takesOver: boolean): KubeletConfig {
    const { random, logger, nodesInAll, kubeletPorts, podDns } = this.#config;
    const backgroundClock = this.#clockOf(`kubelet/${node.name}`);
    const clock = this.#countedClockOf(node.name, backgroundClock);
    const policies = this.#policies.get(node.name);
    return {
      client: this.#clientOf(nodeUser(node.name)),
      runtime: node.runtime,
      clock,
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
      ...(this.#config.limitsEvents !== true && eventPace(nodesInAll)),
      readAddresses: this.#readAddresses,
      // On a virtual clock no two nodes share an instant (see HeartbeatGrid), and each has a clock.
      ...(nodesInAll > 1 &&
        this.#config.clock === systemClock && {
          heartbeatTickMs: HEARTBEAT_TICK_MS,
          eventCorrelator: this.#eventCorrelator,
        }),
      ...(node.simulated
        ? { machine: simulatedMachine(node.name) }
        : { systemLogsDir: SYSTEM_LOGS_DIR }),
      ...(node.rootDir !== undefined && { rootDir: node.rootDir }),
      ...(node.eviction !== undefined && { eviction: node.eviction }),
      ...(node.cgroupRoot !== undefined && { cgroupRoot: node.cgroupRoot }),
      ...(node.imageGc !== undefined && { imageGc: node.imageGc }),
      ...(node.podLogsDir !== undefined && { podLogsDir: node.podLogsDir }),
      ...(kubeletPorts?.nodeAddress !== undefined && {
        addresses: nodeAddressesAt(kubeletPorts.nodeAddress, node.name),
      }),
      ...(node.addresses !== undefined && { addresses: node.addresses }),
      ...(this.#listeners !== undefined &&
        (this.#portless.has(node.name)
          ? { advertisedPort: 0 }
          : {
              server: {
                listeners: this.#listeners,
                port: node.first === true ? KUBELET_PORT : 0,
                orFreePort: true,
                // Without a port the cluster still works: the API server reaches its kubelets in
                // the process.
                optional: true,
              },
            })),
      ...(node.capacity !== undefined && { capacity: node.capacity }),
      ...(node.simulated && { readCapacity: this.#readCapacity }),
      heartbeatKeeper: this.#renewals ?? (node.simulated ? this.#config.heartbeats : undefined),
    };
  }

  async #runKubelet(node: ClusterNode, config: KubeletConfig): Promise<void> {
    const kubelet = new Kubelet(config);
    this.#kubelets.set(node.name, kubelet);
    this.#watchFaults(node);
    this.#config.simulation?.register(`kubelet/${node.name}`, async (down) => {
      await this.stopNode(node.name);
      await down();
      if (!this.#abort.signal.aborted) await this.startNode(node.name);
    });
    await kubelet.start();
  }

  /**
   * Returns the kubelet of the node, which runs. One that has been restarted after an error in its
   * place is another one: it stays awake.
   */
  #awakeKubelet(name: string): AwakeKubelet {
    const kubelet = this.#kubelets.get(name);
    return {
      isIdle: (unusedForMs) =>
        this.#kubelets.get(name) === kubelet &&
        !this.#restarts.has(name) &&
        kubelet?.isIdle(unusedForMs) === true,
      stop: () => this.stopNode(name),
    };
  }

  /** Restarts the node's kubelet after an error that nothing catches. */
  #watchFaults(node: ClusterNode): void {
    const { faults, clock } = this.#config;
    const { name } = node;
    if (faults === undefined || this.#backoffs.has(name)) return;
    this.#backoffs.set(name, new RestartBackoff(clock));
    faults.register({
      name: `kubelet/${name}`,
      folder: 'kubelet',
      // A kubelet that was stopped stays so.
      restart: () => {
        if (this.#kubelets.has(name)) this.#beginRestart(node);
      },
    });
  }

  /** At most one restart of a node runs at a time. */
  #beginRestart(node: ClusterNode): void {
    const { name } = node;
    if (this.#restarts.has(name)) return;
    this.#restarts.set(
      name,
      this.#restartNode(node).finally(() => this.#restarts.delete(name)),
    );
  }

  async #restartNode(node: ClusterNode): Promise<void> {
    const { clock, logger, faults } = this.#config;
    const { name } = node;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      await this.stopNode(name).catch((error: unknown) => faults?.report(`kubelet/${name}`, error));
      const delayMs = this.#backoffs.get(name)?.next() ?? 0;
      logger.warn('restarting component', { component: `kubelet/${name}`, delayMs });
      await clock.sleep(delayMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#startNode(node);
        return;
      } catch (error) {
        faults?.report(`kubelet/${name}`, error);
      }
    }
  }

  #countedClockOf(node: string, clock: Clock): Clock {
    if (this.#config.simulation === undefined) return clock;
    const counting = new CountingClock(clock);
    this.#clocks.set(node, counting);
    return counting;
  }

  #clockOf(name: string): Clock {
    const { faults, clock, simulation } = this.#config;
    return faults?.clockOf(name, clock) ?? simulation?.clockOf(name, clock) ?? clock;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const stopped = await Promise.allSettled(
      [...this.#kubelets.values()].map((kubelet) => kubelet.stop()),
    );
    this.#abort.abort(new Error('the cluster stops'));
    await this.#dormant?.stop();
    await Promise.allSettled(this.#restarts.values());
    // A restart has started another kubelet meanwhile.
    stopped.push(
      ...(await Promise.allSettled([...this.#kubelets.values()].map((kubelet) => kubelet.stop()))),
    );
    stopped.push(...(await Promise.allSettled(this.#running)));
    const problems = stopped.flatMap((result): unknown[] =>
      result.status === 'rejected' ? [result.reason] : [],
    );
    if (problems.length > 0)
      throw new AggregateError(problems, 'components have not stopped cleanly');
  }

  /** Runs a component until the cluster stops. `folder`: see FaultyComponent. */
  #supervise(name: string, folder: string, run: (signal: AbortSignal) => Promise<void>): void {
    const { clock, logger, faults, simulation, instance = '' } = this.#config;
    const { signal } = this.#abort;
    if (faults === undefined && simulation !== undefined) {
      const component = new Restartable(run);
      simulation.register(`${name}${instance}`, (down) => component.restart(down));
      run = (until) => component.run(until);
    }
    if (faults !== undefined) {
      this.#running.push(keepRunning({ name, folder, clock, logger, faults, run }, signal));
      return;
    }
    this.#running.push(
      run(signal).then(
        () => {
          if (!signal.aborted) this.#fail(new Error(`the ${name} has ended`));
        },
        (error: unknown) => {
          if (signal.aborted) return;
          logger.error('component failed', { component: name, err: error });
          this.#fail(new Error(`the ${name} failed: ${errorMessage(error)}`, { cause: error }));
        },
      ),
    );
  }

  #clientOf(user: User, userAgent = componentOf(user.name)): Client {
    return this.#config.clientOf(user, userAgent);
  }
}

/** Returns the node's user, as the server authenticates it. */
function nodeUser(name: string): User {
  return { name: `system:node:${name}`, groups: ['system:nodes', AUTHENTICATED] };
}

/** Returns the user of a component of this package, as the server authenticates it. */
function component(name: string): User {
  return { name, groups: [AUTHENTICATED] };
}

/**
 * Controllers are ServiceAccounts of kube-system, each with the role of its name; what they write
 * is the manager's.
 */
function controllerIdentity(account: string): [user: User, userAgent: string] {
  const name = `system:serviceaccount:kube-system:${account}`;
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system', AUTHENTICATED];
  return [{ name, groups }, `kube-controller-manager/${KUBERNETES_VERSION.gitVersion}/${name}`];
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
