// A whole cluster in one process: the API server, the controllers, the scheduler and the kubelets of its nodes, each made from
// its Config and connected through in-process clients. This is the only place that knows them all.

import { hostname, networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { nodes as nodeType, type Node, type NodeAddress, type ResourceList } from '../api/core/v1/index.ts';
import type { Immutable } from '../api/meta/v1/index.ts';
import { createTlsNodeConnector, type NodeConnector } from '../apiserver/node-connector.ts';
import type { RuntimeConfig } from '../apiserver/runtime-config.ts';
import { ApiServer } from '../apiserver/server.ts';
import { sharedByMany } from '../client/abort.ts';
import type { Client } from '../client/client.ts';
import { createClient } from '../client/create-client.ts';
import { createInProcessTransport } from '../client/in-process.ts';
import { SharedInformerFactory } from '../client/informers/index.ts';
import { ControllerManager } from '../controllers/controller-manager.ts';
import { ControllerManagerMetrics } from '../controllers/metrics.ts';
import type { ControllerName } from '../controllers/controllers.ts';
import type { Runtime } from '../cri/index.ts';
import { Kubelet } from '../kubelet/kubelet.ts';
import type { Clock } from '../machinery/clock.ts';
import { duplexPair } from '../machinery/duplex-pair.ts';
import type { Logger } from '../machinery/log.ts';
import type { Random } from '../machinery/random.ts';
import * as wait from '../machinery/wait.ts';
import type { PluginRegistration } from '../scheduler/framework/index.ts';
import { SchedulerMetrics } from '../scheduler/metrics/scheduler-metrics.ts';
import { Scheduler } from '../scheduler/scheduler.ts';
import type { Storage } from '../storage/interface.ts';
import { firstServiceAddress, parseServiceRanges } from './network-ranges.ts';
import type { Pki } from './pki.ts';
import { leading } from './roles/leading.ts';
import { simulatedMachine } from './simulated-machine.ts';
import { KUBERNETES_VERSION } from './version.ts';

export interface ClusterNode {
  readonly name: string;
  readonly runtime: Runtime;
  /** Containers are only pretended: nothing is written for them, and nothing of the machine is looked at. */
  readonly simulated: boolean;
  /** The node's part of the pod range. */
  readonly podCidr: string;
  /** The kubelet's directory. Not used by simulated nodes. */
  readonly rootDir?: string;
  readonly podLogsDir?: string;
  readonly addresses?: readonly NodeAddress[];
  readonly capacity?: ResourceList;
}

export interface ClusterConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Closed when the cluster stops. */
  readonly storage: Storage;
  /**
   * Needed by `listen`. With it, the authority's certificate is published in every namespace, and pods get a token of their
   * ServiceAccount.
   */
  readonly pki?: Pki;
  /** Absent: no port is opened. Port 0: any that is free. */
  readonly listen?: { readonly bindAddress: string; readonly port: number };
  /** Their runtimes are closed when the cluster stops. */
  readonly nodes: readonly ClusterNode[];
  readonly podCidr: string;
  /** One range, or one of each family with a comma between them. */
  readonly serviceCidr: string;
  /** A KubeSchedulerConfiguration, as its YAML reads. Default: one profile with all defaults. */
  readonly schedulerConfiguration?: unknown;
  /** Plugins that it can name besides those in the tree. */
  readonly schedulerPlugins?: readonly PluginRegistration[];
  /** Which groups, versions and resources are served. Default: stable versions. */
  readonly runtimeConfig?: RuntimeConfig;
  /** Which controllers run (see selectControllers). Default: all. */
  readonly controllers?: readonly ControllerName[];
  /** Others run on the same store: controllers and a scheduler work in one of all that do. Default: false. */
  readonly leaderElect?: boolean;
  /** How long start() waits for the nodes to be ready. Default: 60,000. */
  readonly readyTimeoutMs?: number;
}

interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

const AUTHENTICATED = 'system:authenticated';
/** Who the clients of this package are, to the server. */
const component = (name: string): { name: string; groups: string[] } => ({ name, groups: [AUTHENTICATED] });

export const ADMIN_USER = { name: 'kubernetes-admin', groups: ['system:masters'] } as const;

export class Cluster {
  readonly #config: ClusterConfig;
  /** PEM: what signs the tokens of ServiceAccounts. Each time it is asked for without a directory it would be another. */
  readonly #serviceAccountKey: string | undefined;
  readonly #abort = new AbortController();
  readonly #kubelets = new Map<string, Kubelet>();
  /** The controllers and the scheduler, which run until they are aborted. */
  readonly #running: Promise<void>[] = [];
  readonly #server: ApiServer;
  readonly #schedulerMetrics: SchedulerMetrics;
  readonly #controllerMetrics: ControllerManagerMetrics;
  #url: string | undefined;
  /** How nodes of other processes are reached: made when the first one is. */
  #elsewhere: Promise<NodeConnector> | undefined;
  #stopping: Promise<void> | undefined;
  #fail: (reason: Error) => void = () => undefined;
  /** Resolves with the reason if a component ends that should not. */
  readonly failed: Promise<Error>;
  /** As the administrator. */
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
    return new Cluster(config, listen === undefined ? undefined : await servingCertificate(config, listen.bindAddress));
  }

  /** Once. Starts everything; resolves when the nodes are ready. What was started is stopped again if that fails. */
  async begin(): Promise<void> {
    try {
      await this.#start();
    } catch (err) {
      await this.stop();
      throw err;
    }
  }

  private constructor(config: ClusterConfig, tls: { cert: string; key: string } | undefined) {
    this.#config = config;
    const { clock, random, logger, storage, pki } = config;
    this.#serviceAccountKey = pki?.serviceAccountKeys().privateKey;
    sharedByMany(this.#abort.signal);
    this.failed = new Promise((resolve) => (this.#fail = resolve));
    this.#schedulerMetrics = new SchedulerMetrics({ clock: config.clock });
    this.#controllerMetrics = new ControllerManagerMetrics({ clock: config.clock });
    this.#server = new ApiServer({
      storage,
      clock,
      random: random.derive('apiserver'),
      logger: logger.with({ component: 'apiserver' }),
      serviceCidr: config.serviceCidr,
      sharesStorage: config.leaderElect,
      ...(config.runtimeConfig !== undefined && { runtimeConfig: config.runtimeConfig }),
      nodeConnector: this.#nodeConnector(),
      version: KUBERNETES_VERSION.gitVersion,
      otherMetrics: () => this.#schedulerMetrics.text() + this.#controllerMetrics.text(),
      // Without an authority a pod could not know the API server: it gets no token for it either.
      ...(this.#serviceAccountKey !== undefined && {
        serviceAccounts: { signingKey: this.#serviceAccountKey, mountTokens: true },
      }),
      ...(tls !== undefined && pki !== undefined && { tls: { ...tls, clientCa: pki.caCertificate } }),
      ...(config.listen !== undefined && { bindAddress: config.listen.bindAddress, port: config.listen.port }),
    });
    this.client = this.#clientOf(ADMIN_USER);
  }

  /** Where the API server listens; undefined if it does not. */
  get url(): string | undefined {
    return this.#url;
  }

  async #start(): Promise<void> {
    const { clock, random, logger, pki } = this.#config;
    const schedulerRandom = random.derive('scheduler');
    const { signal } = this.#abort;
    if (this.#config.listen !== undefined) this.#url = (await this.#server.listen()).url;
    await this.#server.start();

    const managerClient = this.#clientOf(component('system:kube-controller-manager'));
    const controllers = new ControllerManager({
      client: managerClient,
      clientOf: (account) => this.#clientOf(...controllerIdentity(account)),
      metrics: this.#controllerMetrics,
      clock,
      random: random.derive('controller-manager'),
      logger: logger.with({ component: 'controller-manager' }),
      ...(this.#config.controllers !== undefined && { controllers: this.#config.controllers }),
      ...(pki !== undefined && { rootCa: pki.caCertificate, signing: { authority: pki.authority } }),
      ...(this.#serviceAccountKey !== undefined && { serviceAccountKey: this.#serviceAccountKey }),
      clusterCidrs: [this.#config.podCidr],
      settings: { 'node-ipam': { serviceCidrs: this.#config.serviceCidr.split(',') } },
    });
    const schedulerClient = this.#clientOf(component('system:kube-scheduler'));
    const schedulerLogger = logger.with({ component: 'scheduler' });
    const makeScheduler = (): Scheduler =>
      new Scheduler({
        client: schedulerClient,
        informers: new SharedInformerFactory({
          client: schedulerClient,
          clock,
          random: schedulerRandom,
          logger: schedulerLogger,
        }),
        clock,
        random: schedulerRandom,
        logger: schedulerLogger,
        configuration: this.#config.schedulerConfiguration,
        plugins: this.#config.schedulerPlugins,
        metrics: this.#schedulerMetrics,
      });
    // What is wrong with its configuration is said at once, not when it comes to lead.
    makeScheduler();
    const { leaderElect = false } = this.#config;
    const identity = `${hostname()}_${random.derive('identity').uuid()}`;
    const lead = (name: string, client: Client, work: (held: AbortSignal) => Promise<void>): Promise<void> =>
      leading({ client, clock, random, logger, component: name, identity, settings: { leaderElect }, work }, signal);
    this.#supervise(
      'controller manager',
      lead('kube-controller-manager', managerClient, (held) => controllers.run(held)),
    );
    this.#supervise(
      'scheduler',
      lead('kube-scheduler', schedulerClient, (held) => makeScheduler().run(held)),
    );

    await Promise.all(this.#config.nodes.map((node) => this.#startNode(node)));
    await this.#waitForNodes();
  }

  /** The node goes silent, as if its kubelet had crashed: nothing is told to the API, and its containers go on. Idempotent. */
  async stopNode(name: string): Promise<void> {
    const kubelet = this.#kubelets.get(this.#nodeNamed(name).name);
    this.#kubelets.delete(name);
    await kubelet?.stop();
  }

  /** A kubelet for a node that was stopped: it finds what runs there. Idempotent. */
  async startNode(name: string): Promise<void> {
    const node = this.#nodeNamed(name);
    if (!this.#kubelets.has(name)) await this.#startNode(node);
  }

  #nodeNamed(name: string): ClusterNode {
    const node = this.#config.nodes.find((candidate) => candidate.name === name);
    if (node === undefined) throw new TypeError(`the cluster has no node ${JSON.stringify(name)}`);
    return node;
  }

  async #startNode(node: ClusterNode): Promise<void> {
    const { clock, random, logger } = this.#config;
    const kubelet = new Kubelet({
      client: this.#clientOf({ name: `system:node:${node.name}`, groups: ['system:nodes', AUTHENTICATED] }),
      runtime: node.runtime,
      clock,
      random: random.derive(`kubelet/${node.name}`),
      logger,
      nodeName: node.name,
      podCIDRs: [node.podCidr],
      kubeletVersion: KUBERNETES_VERSION.gitVersion,
      hostFiles: !node.simulated,
      podNetwork: !node.simulated,
      ...eventPace(this.#config.nodes.length),
      ...(node.simulated && { machine: simulatedMachine(node.name) }),
      ...(node.rootDir !== undefined && { rootDir: node.rootDir }),
      ...(node.podLogsDir !== undefined && { podLogsDir: node.podLogsDir }),
      ...(node.addresses !== undefined && { addresses: node.addresses }),
      ...(node.capacity !== undefined && { capacity: node.capacity }),
    });
    this.#kubelets.set(node.name, kubelet);
    await kubelet.start();
  }

  /** A cluster is ready when pods can run: every node says so, and nothing keeps pods off it. */
  async #waitForNodes(): Promise<void> {
    const isReady = (node: Immutable<Node>): boolean =>
      node.status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true &&
      node.spec.taints?.some((taint) => taint.key === 'node.kubernetes.io/not-ready') !== true;
    const expected = new Set(this.#config.nodes.map((node) => node.name));
    let waitingFor: string[] = [];
    try {
      await wait.pollImmediately(
        {
          clock: this.#config.clock,
          intervalMs: 10,
          timeoutMs: this.#config.readyTimeoutMs ?? 60_000,
          signal: this.#abort.signal,
        },
        async () => {
          const { items } = await this.client.resource(nodeType).list();
          const ready = new Set(items.filter(isReady).map((node) => node.metadata.name));
          waitingFor = [...expected].filter((name) => !ready.has(name));
          return waitingFor.length === 0;
        },
      );
    } catch (err) {
      if (!(err instanceof wait.WaitTimeoutError)) throw err;
      // The cluster works, only without these nodes; they may come later.
      this.#config.logger.warn('nodes are not ready yet', { nodes: waitingFor.join(', ') });
    }
  }

  /** Idempotent. Containers go on running. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const problems: unknown[] = [];
    const all = async (steps: Iterable<Promise<unknown>>): Promise<void> => {
      for (const result of await Promise.allSettled(steps)) if (result.status === 'rejected') problems.push(result.reason);
    };
    await all([...this.#kubelets.values()].map((kubelet) => kubelet.stop()));
    this.#abort.abort(new Error('the cluster stops'));
    await all(this.#running);
    await all([this.#server.stop()]);
    await all([this.#config.storage.close()]);
    await all([...new Set(this.#config.nodes.map((node) => node.runtime))].map((runtime) => runtime.close()));
    if (problems.length > 0) throw new AggregateError(problems, 'the cluster has not stopped cleanly');
  }

  #supervise(name: string, run: Promise<void>): void {
    this.#running.push(
      run.then(
        () => {
          if (!this.#abort.signal.aborted) this.#fail(new Error(`the ${name} has ended`));
        },
        (err: unknown) => {
          if (this.#abort.signal.aborted) return;
          this.#config.logger.error('a component failed', { name, err });
          this.#fail(new Error(`the ${name} failed: ${err instanceof Error ? err.message : String(err)}`, { cause: err }));
        },
      ),
    );
  }

  #clientOf(user: User, userAgent = componentOf(user.name)): Client {
    const groups = user.groups.includes(AUTHENTICATED) ? user.groups : [...user.groups, AUTHENTICATED];
    const handler = this.#server.inProcess({ ...user, groups });
    return createClient(createInProcessTransport({ handler, userAgent }));
  }

  /** Kubelets in this process are reached without a port, those that have joined it from elsewhere at their own. */
  #nodeConnector(): NodeConnector {
    return {
      connect: async (target, signal): Promise<Duplex> => {
        const kubelet = this.#kubelets.get(target.name);
        if (kubelet === undefined) return (await this.#connectorOf(target.name)).connect(target, signal);
        const [near, far] = duplexPair();
        kubelet.handleConnection(far, { name: 'system:apiserver', groups: ['system:masters'] });
        return near;
      },
    };
  }

  async #connectorOf(node: string): Promise<NodeConnector> {
    const { pki, nodes } = this.#config;
    if (pki === undefined || nodes.some(({ name }) => name === node))
      throw new Error(`node ${node} does not run in this process`);
    this.#elsewhere ??= pki
      .certificate('apiserver-kubelet-client', { commonName: 'kube-apiserver-kubelet-client', usage: 'client' })
      .then((pair) => createTlsNodeConnector({ ...pair, ca: pki.caCertificate }));
    return this.#elsewhere;
  }
}

/** Controllers are ServiceAccounts of kube-system, each with the role of its name; what they write is the manager's. */
function controllerIdentity(account: string): [user: User, userAgent: string] {
  const name = `system:serviceaccount:kube-system:${account}`;
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system'];
  return [{ name, groups }, `kube-controller-manager/${KUBERNETES_VERSION.gitVersion}/${name}`];
}

/** The component that a user is, as it calls itself: the owner of the fields that it writes. */
function componentOf(user: string): string {
  if (user.startsWith('system:node:')) return 'kubelet';
  return user.startsWith('system:') ? user.slice('system:'.length) : 'coxswain';
}

/**
 * How fast each of so many nodes may tell of its pods. A kubelet alone keeps to Kubernetes' 50 events a second after 100 at once;
 * many of them share this process, and what they have to tell must not keep pods from starting.
 */
function eventPace(nodes: number): { readonly eventsPerSecond: number; readonly eventBurst: number } {
  return {
    eventsPerSecond: Math.min(50, Math.max(1, 100 / nodes)),
    eventBurst: Math.min(100, Math.max(5, Math.floor(200 / nodes))),
  };
}

async function servingCertificate(config: ClusterConfig, bindAddress: string): Promise<{ cert: string; key: string }> {
  if (config.pki === undefined) throw new TypeError('a cluster that listens needs a pki');
  const hosts = new Set([
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    '127.0.0.1',
    firstServiceAddress(parseServiceRanges('--service-cidr', config.serviceCidr)),
    ...(bindAddress === '0.0.0.0' || bindAddress === '::' ? machineAddresses() : [bindAddress]),
  ]);
  return config.pki.certificate('apiserver', { commonName: 'kube-apiserver', usage: 'server', hosts: [...hosts] });
}

function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).filter(({ internal, address }) => !internal && !address.startsWith('fe80:')).map(({ address }) => address),
  );
}
