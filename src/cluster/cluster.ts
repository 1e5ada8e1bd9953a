// A whole cluster in one process: the API server, and the controllers, the scheduler and the
// kubelets of its nodes, which reach it through in-process clients. This is the only place that
// knows them all.

import { networkInterfaces } from 'node:os';
import { pipeline, type Duplex } from 'node:stream';
import { nodes as nodeType, type Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { createTlsNodeConnector, type NodeConnector } from '#apiserver/node-connector.ts';
import type { ComponentHealth } from '#apiserver/kinds/core/component-status.ts';
import type { ApiServerConfig } from '#apiserver/config.ts';
import type { RuntimeConfig } from '#apiserver/runtime-config.ts';
import { ApiServer } from '#apiserver/server.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport, type InProcessHandler } from '#client/in-process.ts';
import type { ControllerName } from '#controllers/controllers.ts';
import { type Clock, VirtualClock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import type { Decision } from '#scheduler/decisions.ts';
import type { PluginRegistration } from '#scheduler/framework/index.ts';
import { componentOfUser, SERVER_COMPONENT, type Simulation } from '#simulation/index.ts';
import type { Storage } from '#storage/interface.ts';
import { grantPodNetworkPermissions } from '#network/index.ts';
import type { AccessSettings } from './access/index.ts';
import type { Encryption } from './stores/encryption.ts';
import { ApiWorkers, type ApiWorkersSettings } from './api-workers/index.ts';
import { keepRenewed, RENEWAL_PERIOD_MS } from './credentials/certificate-renewal.ts';
import { type ConsoleSettings, mountsOf, permitConsole } from './console.ts';
import { bounded } from './component-health.ts';
import {
  componentOf,
  Components,
  type ControlConfig,
  KUBELET_AGENT,
  type RunningComponents,
  type User,
} from './components.ts';
import type { ComponentsRunner } from './thread/index.ts';
import { ClusterDns, type DnsSettings } from './cluster-dns.ts';
import { ClusterIngress, type IngressSettings } from './cluster-ingress.ts';
import { ClusterCsi, type CsiSettings } from './csi/cluster-csi.ts';
import type { DnsServer } from '#dns/index.ts';
import { keepRunning, type UncaughtErrors } from './faults/index.ts';
import { firstServiceAddress, parseServiceRanges } from './network-ranges.ts';
import type { RenewalBatch } from '#kubelet/node/renewal-batches.ts';
import { nodeHeartbeats } from './nodes/virtual-heartbeats.ts';
import type { SleepingNodesConfig } from './nodes/sleeping-nodes.ts';
import { kubeletCertificate, type KubeletPorts } from './nodes/kubelet-ports.ts';
import type { ClusterNode, SimulatedNode } from './nodes/cluster-node.ts';
import { openFrontProxy, type FrontProxy } from './credentials/front-proxy.ts';
import type { KeyPair, Pki } from './credentials/pki.ts';
import { KUBERNETES_VERSION } from './version.ts';

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

const AUTHENTICATED = 'system:authenticated';
const DNS = 'dns';
const INGRESS = 'ingress';
const CSI = 'csi-driver';

export const ADMIN_USER = { name: 'kubernetes-admin', groups: ['system:masters'] } as const;

export class Cluster {
  readonly #config: ClusterConfig;
  /**
   * PEM: what signs the tokens of ServiceAccounts. Each time it is asked for without a directory it
   * would be another.
   */
  readonly #serviceAccountKey: string | undefined;
  readonly #abort = new AbortController();
  /** The components of this thread. */
  readonly #components: Components;
  /** Further instances of the controllers and the scheduler. */
  readonly #standbys: Components[] = [];
  /** The components of all threads. */
  readonly #running: readonly RunningComponents[];
  readonly #server: ApiServer;
  readonly #workers: ApiWorkers | undefined;
  readonly #dns: ClusterDns | undefined;
  #dnsRunning: Promise<void> | undefined;
  readonly #ingress: ClusterIngress | undefined;
  #ingressRunning: Promise<void> | undefined;
  readonly #csi: ClusterCsi | undefined;
  #csiRunning: Promise<void> | undefined;
  /** The certificate that the API server was started with. */
  readonly #tls: Certificates | undefined;
  /** The client certificate that the API server presents to other API servers. */
  #proxyClient: KeyPair | undefined;
  #url: string | undefined;
  /** All components have started. Nodes may not be ready yet. */
  #started = false;
  #onNodeStarted: (started: number) => void = () => undefined;
  /** Connects to nodes of other processes. Made at the first connection. */
  #elsewhere: Promise<NodeConnector> | undefined;
  #stopping: Promise<void> | undefined;
  /** Resolves with the reason if a component ends that should not. */
  readonly failed: Promise<Error>;
  /** The administrator's client. */
  readonly client: Client;

  /** make() and begin(). */
  static async start(config: ClusterConfig): Promise<Cluster> {
    const cluster = await Cluster.make(config);
    await cluster.begin();
    return cluster;
  }

  /** Makes everything, its certificates included, and starts nothing. */
  static async make(config: ClusterConfig): Promise<Cluster> {
    const { listen } = config;
    if (listen === undefined) return new Cluster(config, undefined);
    const serving = await servingCertificate(config, listen.bindAddress);
    const frontProxy = await openFrontProxy(config.pki as Pki);
    return new Cluster(config, {
      ...serving,
      frontProxy,
      proxyClient: await frontProxy.certificate(),
    });
  }

  /** Returns a cluster without a port. Starts nothing. */
  static withoutPort(config: ClusterConfig): Cluster {
    return new Cluster({ ...config, listen: undefined }, undefined);
  }

  /**
   * Once. Starts everything; resolves when the nodes are ready. What was started is stopped again
   * if that fails.
   */
  async begin(): Promise<void> {
    try {
      await this.#start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  private constructor(config: ClusterConfig, tls: Certificates | undefined) {
    this.#config = config;
    this.#tls = tls;
    this.#proxyClient = tls?.proxyClient;
    const { clock, random, logger, storage, pki } = config;
    this.#serviceAccountKey = pki?.serviceAccountKeys().privateKey;
    sharedByMany(this.#abort.signal);
    const thread = config.thread?.components;
    const domain = config.dns?.clusterDomain ?? config.clusterDomain;
    const { simulation, controlPlanes = 1 } = config;
    const instance = (number: number): string => (controlPlanes === 1 ? '' : `#${number}`);
    this.#components = new Components({
      clock,
      random,
      logger,
      clientOf: (user, userAgent) => this.#clientOf(user, userAgent, instance(1)),
      simulation,
      instance: instance(1),
      nodes: config.nodes,
      nodesInAll: this.#nodeNames().length,
      heartbeats: nodeHeartbeats(storage, clock),
      renewLeases: (batch) => this.#renewLeases(batch),
      faults: config.faults,
      kubeletPorts: config.kubeletPorts,
      podDns: {
        ...(domain !== undefined && { clusterDomain: domain }),
        ...(config.dns?.reachable === true && { servers: [config.dns.serviceAddress] }),
      },
      onNodeStarted: (count) => this.#onNodeStarted(count),
      resumes: config.resume !== undefined,
      stoppedNodes: config.resume?.stoppedNodes,
      ...(config.resume?.sleepingNodes !== undefined && {
        sleepingNodes: config.resume.sleepingNodes,
      }),
      ...(thread === undefined && { control: this.#control() }),
    });
    for (let number = 2; number <= controlPlanes; number++)
      this.#standbys.push(
        new Components({
          clock,
          random: random.derive(`control-plane-${number}`),
          logger,
          clientOf: (user, userAgent) => this.#clientOf(user, userAgent, instance(number)),
          simulation,
          instance: instance(number),
          nodes: [],
          nodesInAll: 0,
          faults: config.faults,
          control: this.#control(),
        }),
      );
    this.#running = [
      this.#components,
      ...this.#standbys,
      ...(thread === undefined ? [] : [thread]),
    ];
    this.failed = Promise.race(this.#running.map(({ failed }) => failed));
    const serverConfig: ApiServerConfig = {
      ...config.inProcess,
      ...(tls !== undefined && mountsOf({ ...config, decisions: () => this.#decisions() })),
      storage,
      clock: simulation?.clockOf(SERVER_COMPONENT, clock) ?? clock,
      intercept: simulation?.intercept,
      interceptWebhook: simulation?.interceptWebhook,
      random: random.derive('apiserver'),
      logger: logger.with({ component: 'apiserver' }),
      serviceCidr: config.serviceCidr,
      ...(config.audit !== undefined && { audit: config.audit }),
      ...config.access?.config,
      latestHeartbeats: clock instanceof VirtualClock,
      sharesStorage: config.leaderElect === true && controlPlanes === 1,
      ...(config.runtimeConfig !== undefined && { runtimeConfig: config.runtimeConfig }),
      nodeConnector: this.#nodeConnector(),
      componentHealth: this.#componentHealth(),
      version: KUBERNETES_VERSION.gitVersion,
      otherChecks: () => config.encryption?.checks() ?? [],
      otherMetrics: async () => {
        const texts = await Promise.all(
          this.#running.map(async (components) => components.metrics()),
        );
        return (
          texts.join('') +
          (this.#dns?.metrics() ?? '') +
          (this.#ingress?.metrics() ?? '') +
          (config.faults?.metrics() ?? '') +
          (this.#workers?.metrics() ?? '') +
          (config.access?.metrics?.() ?? '') +
          (config.encryption?.metrics() ?? '')
        );
      },
      // Without an authority a pod could not know the API server: it gets no token for it either.
      ...(this.#serviceAccountKey !== undefined && {
        serviceAccounts: { signingKey: this.#serviceAccountKey, mountTokens: true },
      }),
      ...(tls !== undefined &&
        pki !== undefined && {
          tls: { cert: tls.cert, key: tls.key, clientCa: pki.caCertificate },
          requestHeader: tls.frontProxy.requestHeader,
          aggregation: { proxyClientCertificate: () => this.#proxyClient },
        }),
      ...(config.listen !== undefined && {
        bindAddress: config.listen.bindAddress,
        port: config.listen.port,
      }),
      ...(config.apiWorkers !== undefined && { hasWorkers: () => this.#workers?.any === true }),
    };
    this.#server = new ApiServer(serverConfig);
    if (config.apiWorkers !== undefined && tls !== undefined)
      this.#workers = ApiWorkers.of({ ...config.apiWorkers, server: serverConfig });
    this.client = this.#clientOfProgram(ADMIN_USER);
    this.#dns =
      config.dns === undefined
        ? undefined
        : new ClusterDns({
            settings: config.dns,
            client: this.client,
            clientOf: (user) => this.#clientOf(user),
            clock: config.faults?.clockOf(DNS, clock) ?? clock,
            random: random.derive(DNS),
            logger: logger.with({ component: DNS }),
          });
    this.#ingress =
      config.ingress === undefined
        ? undefined
        : new ClusterIngress({
            settings: config.ingress,
            client: this.client,
            clientOf: (user) => this.#clientOf(user),
            clock: config.faults?.clockOf(INGRESS, clock) ?? clock,
            random: random.derive(INGRESS),
            logger: logger.with({ component: INGRESS }),
          });
    this.#csi =
      config.csi === undefined
        ? undefined
        : new ClusterCsi({
            settings: config.csi,
            client: this.client,
            clientOf: (user) => this.#clientOf(user),
            clock: config.faults?.clockOf(CSI, clock) ?? clock,
            random: random.derive(CSI),
            logger: logger.with({ component: CSI }),
          });
  }

  /** The DNS server of this cluster, while it runs. */
  get dns(): DnsServer | undefined {
    return this.#dns?.server;
  }

  /**
   * Returns a connection to the API server, as the administrator, that speaks HTTP/1.1 without
   * encryption. It stays in the process.
   */
  connect(): Duplex {
    return this.connectAs({ ...ADMIN_USER, groups: [...ADMIN_USER.groups, AUTHENTICATED] });
  }

  /** Returns such a connection of another user. */
  connectAs(user: User): Duplex {
    const connect = (): Duplex => this.#server.connect(user);
    // A connection may be used for anything.
    const ready = this.#config.resume?.beforeRequest('CONNECT', '/');
    return ready === undefined ? connect() : connectLater(ready, connect);
  }

  /**
   * Returns a client whose requests are made by the user. Its user agent names it in managed
   * fields.
   */
  clientOf(user: User, userAgent?: string): Client {
    return this.#clientOfProgram(user, undefined, userAgent);
  }

  /** The address of the API server; undefined if it does not listen. */
  get url(): string | undefined {
    return this.#url;
  }

  async #start(): Promise<void> {
    await this.beginServer();
    await this.beginComponents();
    await this.#waitForNodes();
  }

  /** Once. Starts the API server alone. */
  async beginServer(): Promise<void> {
    const { progress } = this.#config;
    progress?.({ step: 'starting the API server' });
    if (this.#config.listen !== undefined) {
      this.#url = (await this.#server.listen()).url;
      this.#keepCertificates();
    }
    await this.#server.start();
    if (this.#url !== undefined)
      this.#workers?.start(this.#server, Number(new URL(this.#url).port));
    void this.#config.encryption?.keepLoaded();
    void this.#config.access?.keepLoaded?.(this.#abort.signal, () =>
      this.#workers?.settingsChanged(),
    );
    await this.#permitPodNetwork();
    if (this.#tls !== undefined) await permitConsole(this.#config, this.client);
  }

  /**
   * Once, after beginServer(). Starts everything else. The nodes may not be ready when it resolves.
   */
  async beginComponents(): Promise<void> {
    const { thread, logger, progress } = this.#config;
    const total = this.#nodeNames().length;
    progress?.({ step: 'starting nodes', done: 0, total });
    const started = { here: 0, inThread: 0 };
    this.#onNodeStarted = (count) => {
      started.here = count;
      progress?.({ step: 'starting nodes', done: started.here + started.inThread, total });
    };
    this.#dnsRunning = this.#keep(DNS, this.#dns);
    this.#ingressRunning = this.#keep(INGRESS, this.#ingress);
    this.#csiRunning = this.#keep(CSI, this.#csi);
    await Promise.all([
      this.#dns?.started,
      this.#ingress?.started,
      this.#components.start(),
      ...this.#standbys.map((components) => components.start()),
      thread?.components.start({
        handlerOf: (user) => this.#handlerOf(user),
        logger,
        control: this.#control(),
        nodes: thread.nodes,
        nodesInAll: this.#nodeNames().length,
        renewLeases: (batch) => this.#renewLeases(batch),
        kubeletPorts: this.#config.kubeletPorts,
        onNodeStarted: (count) => {
          started.inThread = count;
          progress?.({ step: 'starting nodes', done: started.here + started.inThread, total });
        },
      }),
    ]);
    this.#started = true;
  }

  /**
   * Grants the permissions of the pod network, for this machine's node and for other machines that
   * join. Without them the cluster still works on this machine.
   */
  async #permitPodNetwork(): Promise<void> {
    if (this.#config.nodes.every(({ podNetwork }) => podNetwork === undefined)) return;
    try {
      await grantPodNetworkPermissions(this.client);
    } catch (error) {
      this.#config.logger.warn('nodes could not be permitted to read the nodes of the cluster', {
        err: error,
      });
    }
  }

  /**
   * Runs a part without which the cluster goes on: its failure is logged, and with `faults` it is
   * restarted.
   */
  #keep(
    name: string,
    part: { run(until: AbortSignal): Promise<void> } | undefined,
  ): Promise<void> | undefined {
    if (part === undefined) return undefined;
    const { clock, logger, faults } = this.#config;
    const { signal } = this.#abort;
    const run = (until: AbortSignal): Promise<void> => part.run(until);
    return faults === undefined
      ? run(signal).catch(() => undefined)
      : keepRunning({ name, folder: name, clock, logger, faults, run }, signal);
  }

  #control(): ControlConfig {
    const {
      podCidrs,
      serviceCidr,
      schedulerConfiguration,
      schedulerPlugins,
      controllers,
      leaderElect,
      pki,
    } = this.#config;
    return {
      podCidrs,
      serviceCidr,
      loadBalancerPool: this.#config.loadBalancerPool,
      schedulerConfiguration,
      schedulerPlugins,
      controllers,
      leaderElect,
      authority: pki?.authority,
      serviceAccountKey: this.#serviceAccountKey,
    };
  }

  /**
   * The components are healthy if they have started, have not failed, and their thread answers. As
   * in kube-apiserver, a component that only waits to become the leader is healthy.
   */
  #componentHealth(): ComponentHealth {
    let failure: Error | undefined;
    void this.failed.then((error) => (failure = error));
    const check = async (): Promise<void> => {
      if (!this.#started) throw new Error('not started yet');
      if (failure !== undefined) throw failure;
      const { thread, clock } = this.#config;
      // This thread answers by running this check.
      if (thread !== undefined)
        await bounded(clock, 'the thread', async () => void (await thread.components.metrics()));
    };
    return { 'controller-manager': check, scheduler: check };
  }

  /** Returns the last decisions of the scheduler, latest first. */
  async #decisions(): Promise<readonly Decision[]> {
    const all = await Promise.all(this.#running.map(async (components) => components.decisions()));
    return all.flat().sort((a, b) => b.timeMs - a.timeMs);
  }

  /** Renews the API server's certificates, until the cluster stops. */
  #keepCertificates(): void {
    const { clock, logger, listen } = this.#config;
    const current = this.#tls;
    if (listen === undefined || current === undefined) return;
    const latest = (): Promise<KeyPair> => {
      // The client certificate for kubelets is read again, and renewed, with the next connection to
      // one.
      this.#elsewhere = undefined;
      return servingCertificate(this.#config, listen.bindAddress);
    };
    const use = (pair: KeyPair): void => {
      this.#server.setServingCertificate(pair);
      this.#workers?.setServingCertificate(pair);
    };
    void keepRenewed(
      { clock, logger, name: 'apiserver', current, periodMs: RENEWAL_PERIOD_MS, latest, use },
      this.#abort.signal,
    );
    void keepRenewed(
      {
        clock,
        logger,
        name: 'front-proxy-client',
        current: current.proxyClient,
        periodMs: RENEWAL_PERIOD_MS,
        latest: () => current.frontProxy.certificate(),
        use: (pair) => {
          this.#proxyClient = pair;
          this.#workers?.settingsChanged();
        },
      },
      this.#abort.signal,
    );
    this.#keepKubeletCertificate(listen.bindAddress);
  }

  #keepKubeletCertificate(bindAddress: string): void {
    const { clock, logger, pki, kubeletPorts } = this.#config;
    if (pki === undefined || kubeletPorts === undefined) return;
    const { cert, key } = kubeletPorts.tls;
    void keepRenewed(
      {
        clock,
        logger,
        name: 'kubelet',
        current: { cert: String(cert), key: String(key) },
        periodMs: RENEWAL_PERIOD_MS,
        latest: () => kubeletCertificate(pki, bindAddress, kubeletPorts.names),
        use: (pair) => {
          for (const components of this.#running) components.setKubeletCertificate(pair);
        },
      },
      this.#abort.signal,
    );
  }

  #nodeNames(): string[] {
    const { nodes, thread } = this.#config;
    return [...nodes, ...(thread?.nodes ?? [])].map(({ name }) => name);
  }

  /** See Components: of the nodes of this thread. */
  stopNode(name: string): Promise<void> {
    return this.#components.stopNode(name);
  }

  startNode(name: string): Promise<void> {
    return this.#components.startNode(name);
  }

  quietNodes(): ReadonlySet<string> {
    return this.#components.quietNodes();
  }

  /**
   * Waits until pods can run: every node is Ready, and no taint keeps pods off it. Without the
   * node-lifecycle controller nothing removes the taint, which is not waited for then.
   */
  async #waitForNodes(): Promise<void> {
    const { controllers, leaderElect = false, controlPlanes = 1 } = this.#config;
    const isUntainted =
      controllers === undefined ||
      controllers.includes('node-lifecycle-controller') ||
      // Another process on the same store may run it.
      (leaderElect && controlPlanes === 1);
    const isReady = (node: Immutable<Node>): boolean =>
      node.status.conditions?.some(
        (condition) => condition.type === 'Ready' && condition.status === 'True',
      ) === true &&
      (!isUntainted ||
        node.spec.taints?.some((taint) => taint.key === 'node.kubernetes.io/not-ready') !== true);
    const { clock, logger, progress, readyTimeoutMs = 60_000 } = this.#config;
    const expected = this.#nodeNames();
    let waitingFor = expected;
    let lastProgress = clock.monotonic();
    // A list of many nodes takes its time, too.
    const intervalMs = Math.min(Math.max(10, expected.length / 2), 1000);
    for (;;) {
      const { items } = await this.client.resource(nodeType).list();
      const ready = new Set(items.filter(isReady).map((node) => node.metadata.name));
      const missing = expected.filter((name) => !ready.has(name));
      if (missing.length < waitingFor.length) lastProgress = clock.monotonic();
      waitingFor = missing;
      if (waitingFor.length === 0) return;
      progress?.({
        step: 'waiting for nodes to be ready',
        done: expected.length - waitingFor.length,
        total: expected.length,
      });
      if (clock.monotonic() - lastProgress >= readyTimeoutMs) break;
      await clock.sleep(intervalMs, this.#abort.signal);
    }
    // The cluster works, only without these nodes; they may come later.
    logger.warn('nodes are not ready yet', {
      count: waitingFor.length,
      nodes: waitingFor.slice(0, 10).join(', '),
    });
  }

  /** Idempotent. Containers go on running. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const problems: unknown[] = [];
    const all = async (steps: Iterable<Promise<unknown>>): Promise<void> => {
      for (const result of await Promise.allSettled(steps))
        if (result.status === 'rejected') problems.push(result.reason);
    };
    this.#abort.abort(new Error('the cluster stops'));
    await all(
      [this.#dnsRunning, this.#ingressRunning, this.#csiRunning].map(
        (part) => part ?? Promise.resolve(),
      ),
    );
    await all(this.#running.map((components) => components.stop()));
    await all([this.#workers?.stop() ?? Promise.resolve(), this.#server.stop()]);
    await all([this.#config.storage.close()]);
    await all(
      [...new Set(this.#config.nodes.map((node) => node.runtime))].map((runtime) =>
        runtime.close(),
      ),
    );
    if (problems.length > 0)
      throw new AggregateError(problems, 'the cluster has not stopped cleanly');
  }

  /** See RenewLeases. */
  async #renewLeases(batch: RenewalBatch): Promise<readonly string[]> {
    try {
      return await this.#server.renewLeases({ ...batch, userAgent: KUBELET_AGENT });
    } catch (error) {
      this.#config.logger.error('leases not renewed together, kubelets renew them', { err: error });
      return batch.nodes;
    }
  }

  #handlerOf({ name, groups }: User, component?: string): InProcessHandler {
    return this.#server.inProcess(
      { name, groups: groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED] },
      component,
    );
  }

  /** Returns a client for the program that the cluster is in, not for a component. */
  #clientOfProgram(user: User, component?: string, userAgent = componentOf(user.name)): Client {
    const served = this.#handlerOf(user, component ?? componentOfUser(user.name, userAgent, ''));
    const { resume } = this.#config;
    const handler: InProcessHandler =
      resume === undefined
        ? served
        : async (request) => {
            await resume.beforeRequest(request.method, request.path);
            return served(request);
          };
    return createClient(createInProcessTransport({ handler, userAgent }));
  }

  /** Returns a client for a component of the cluster. */
  #clientOf(user: User, userAgent = componentOf(user.name), instance = ''): Client {
    const component = componentOfUser(user.name, userAgent, instance);
    const latestHeartbeats = this.#config.clock instanceof VirtualClock;
    const handler = this.#handlerOf(user, component);
    return createClient(createInProcessTransport({ handler, userAgent, latestHeartbeats }));
  }

  /** Returns a client of the administrator that faults know as a component of its own. */
  clientOfController(component: string, userAgent: string): Client {
    return this.#clientOfProgram(ADMIN_USER, component, userAgent);
  }

  /**
   * Connects to kubelets in this process without a port, and to kubelets that joined from other
   * machines at their own ports.
   */
  #nodeConnector(): NodeConnector {
    return {
      connect: async (target, signal): Promise<Duplex> => {
        this.#config.simulation?.checkNode(target.name);
        await this.#components.wakeNode(target.name);
        for (const components of this.#running) {
          const connection = components.connect(target.name);
          if (connection !== undefined) return connection;
        }
        return (await this.#connectorOf(target.name)).connect(target, signal);
      },
    };
  }

  async #connectorOf(node: string): Promise<NodeConnector> {
    const { pki } = this.#config;
    if (pki === undefined || this.#nodeNames().includes(node))
      throw new Error(`node ${node} does not run in this process`);
    this.#elsewhere ??= pki
      .certificate('apiserver-kubelet-client', {
        commonName: 'kube-apiserver-kubelet-client',
        usage: 'client',
      })
      .then((pair) =>
        createTlsNodeConnector({
          pair: () => pair,
          clock: this.#config.clock,
          ca: pki.caCertificate,
        }),
      );
    return this.#elsewhere;
  }
}

/** Returns a connection that is made when the promise resolves, and destroyed when it rejects. */
function connectLater(ready: Promise<void>, connect: () => Duplex): Duplex {
  const [near, far] = duplexPair();
  ready.then(
    () => pipeline(far, connect(), far, () => undefined),
    (error: Error) => near.destroy(error),
  );
  return near;
}

/** The certificates of a cluster that listens. */
interface Certificates extends KeyPair {
  readonly frontProxy: FrontProxy;
  readonly proxyClient: KeyPair;
}

async function servingCertificate(
  config: ClusterConfig,
  bindAddress: string,
): Promise<{ cert: string; key: string }> {
  if (config.pki === undefined) throw new TypeError('a cluster that listens needs a pki');
  const hosts = new Set([
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    `kubernetes.default.svc.${config.dns?.clusterDomain ?? config.clusterDomain ?? 'cluster.local'}`,
    '127.0.0.1',
    firstServiceAddress(parseServiceRanges('--service-cidr', config.serviceCidr)),
    ...(bindAddress === '0.0.0.0' || bindAddress === '::' ? machineAddresses() : [bindAddress]),
  ]);
  return config.pki.certificate('apiserver', {
    commonName: 'kube-apiserver',
    usage: 'server',
    hosts: [...hosts],
  });
}

function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? [])
      .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
      .map(({ address }) => address),
  );
}
