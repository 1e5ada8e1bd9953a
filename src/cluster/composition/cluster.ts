// A whole cluster in one process: the API server, and the controllers, the scheduler and the
// kubelets of its nodes, which reach it through in-process clients. This is the only place that
// knows them all.

import type { Duplex } from 'node:stream';
import type { ComponentHealth } from '#apiserver/kinds/core/component-status.ts';
import { ApiServer } from '#apiserver/server.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import type { DnsServer } from '#dns/index.ts';
import type { HeartbeatBatch } from '#kubelet/node/heartbeat-batches.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { grantPodNetworkPermissions } from '#network/index.ts';
import type { Decision } from '#scheduler/decisions.ts';
import { ApiWorkers } from '../api-workers/index.ts';
import { ClusterAddons } from './addons.ts';
import { ClusterCertificates } from './certificates.ts';
import { authenticated, ClusterClients } from './clients.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { bounded } from '../components/component-health.ts';
import {
  Components,
  type ComponentsConfig,
  type ControlConfig,
  KUBELET_AGENT,
  type RunningComponents,
  type User,
} from '../components/index.ts';
import { permitConsole } from '../console/console.ts';
import { ADMIN_USER } from '../credentials/admin-user.ts';
import { NodeConnections } from './node-connections.ts';
import { nodeHeartbeats } from '../nodes/virtual-heartbeats.ts';
import { waitForNodes } from '../nodes/wait-for-nodes.ts';
import { serverConfigOf } from './server-config.ts';

export class Cluster {
  readonly #config: ClusterConfig;
  /**
   * PEM: what signs the tokens of ServiceAccounts. Each time it is asked for without a directory it
   * would be another.
   */
  readonly #serviceAccountKey: string | undefined;
  readonly #abort = new AbortController();
  readonly #clients: ClusterClients;
  /** The components of this thread. */
  readonly #components: Components;
  /** Further instances of the controllers and the scheduler. */
  readonly #standbys: readonly Components[];
  /** The components of all threads. */
  readonly #running: readonly RunningComponents[];
  readonly #server: ApiServer;
  readonly #workers: ApiWorkers | undefined;
  readonly #addons: ClusterAddons;
  readonly #certificates: ClusterCertificates | undefined;
  readonly #connections: NodeConnections;
  #url: string | undefined;
  /** All components have started. Nodes may not be ready yet. */
  #started = false;
  #onNodeStarted: (started: number) => void = () => undefined;
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
    return new Cluster(config, await ClusterCertificates.open(config, listen.bindAddress));
  }

  /** Returns a cluster without a port. Starts nothing. */
  static withoutPort(config: ClusterConfig): Cluster {
    return new Cluster({ ...config, listen: undefined }, undefined);
  }

  private constructor(config: ClusterConfig, certificates: ClusterCertificates | undefined) {
    this.#config = config;
    this.#certificates = certificates;
    const { clock, pki, resume, controlPlanes = 1 } = config;
    this.#serviceAccountKey = pki?.serviceAccountKeys().privateKey;
    sharedByMany(this.#abort.signal);
    this.#clients = new ClusterClients({
      server: () => this.#server,
      latestHeartbeats: clock instanceof VirtualClock,
      resume,
    });
    this.#components = this.#makeComponents();
    this.#standbys = Array.from({ length: controlPlanes - 1 }, (_, index) =>
      this.#makeStandby(index + 2),
    );
    const thread = config.thread?.components;
    this.#running = [
      this.#components,
      ...this.#standbys,
      ...(thread === undefined ? [] : [thread]),
    ];
    this.failed = Promise.race(this.#running.map(({ failed }) => failed));
    this.#connections = new NodeConnections({
      clock,
      pki,
      simulation: config.simulation,
      names: this.#nodeNames(),
      wake: (node) => this.#components.kubelets.wake(node),
      running: () => this.#running,
    });
    const serverConfig = serverConfigOf(config, {
      certificates,
      serviceAccountKey: this.#serviceAccountKey,
      nodeConnector: this.#connections,
      componentHealth: this.#componentHealth(),
      otherMetrics: () => this.#metrics(),
      decisions: () => this.#decisions(),
      hasWorkers: () => this.#workers?.any === true,
    });
    this.#server = new ApiServer(serverConfig);
    if (config.apiWorkers !== undefined && certificates !== undefined)
      this.#workers = ApiWorkers.of({ ...config.apiWorkers, server: serverConfig });
    this.client = this.#clients.ofProgram(ADMIN_USER);
    this.#addons = new ClusterAddons(config, {
      client: this.client,
      clientOf: (user) => this.#clients.ofComponent(user),
    });
  }

  /** Returns the components of this thread: all, or those that its `thread` does not have. */
  #makeComponents(): Components {
    const { clock, nodes, storage, dns, resume, thread, kubeletPorts } = this.#config;
    const domain = dns?.clusterDomain ?? this.#config.clusterDomain;
    return new Components({
      ...this.#shared(1),
      random: this.#config.random,
      nodes,
      nodesInAll: this.#nodeNames().length,
      heartbeats: nodeHeartbeats(storage, clock),
      makeHeartbeats: (batch) => this.#makeHeartbeats(batch, false),
      kubeletPorts,
      podDns: {
        ...(domain !== undefined && { clusterDomain: domain }),
        ...(dns?.reachable === true && { servers: [dns.serviceAddress] }),
      },
      onNodeStarted: (count) => this.#onNodeStarted(count),
      resumes: resume !== undefined,
      stoppedNodes: resume?.stoppedNodes,
      ...(resume?.sleepingNodes !== undefined && { sleepingNodes: resume.sleepingNodes }),
      ...(thread === undefined && { control: this.#control() }),
    });
  }

  #makeStandby(number: number): Components {
    return new Components({
      ...this.#shared(number),
      random: this.#config.random.derive(`control-plane-${number}`),
      nodes: [],
      nodesInAll: 0,
      control: this.#control(),
    });
  }

  /** Returns the settings of an instance of the controllers and the scheduler that all have. */
  #shared(
    number: number,
  ): Pick<
    ComponentsConfig,
    'clock' | 'logger' | 'clientOf' | 'simulation' | 'instance' | 'faults'
  > {
    const { clock, logger, simulation, faults, controlPlanes = 1 } = this.#config;
    const instance = controlPlanes === 1 ? '' : `#${number}`;
    return {
      clock,
      logger,
      clientOf: (user, userAgent) => this.#clients.ofComponent(user, userAgent, instance),
      simulation,
      instance,
      faults,
    };
  }

  #control(): ControlConfig {
    const { pki } = this.#config;
    return {
      podCidrs: this.#config.podCidrs,
      serviceCidr: this.#config.serviceCidr,
      loadBalancerPool: this.#config.loadBalancerPool,
      schedulerConfiguration: this.#config.schedulerConfiguration,
      schedulerPlugins: this.#config.schedulerPlugins,
      controllers: this.#config.controllers,
      leaderElect: this.#config.leaderElect,
      authority: pki?.authority,
      serviceAccountKey: this.#serviceAccountKey,
    };
  }

  /** The DNS server of this cluster, while it runs. */
  get dns(): DnsServer | undefined {
    return this.#addons.dns;
  }

  /** The address of the API server; undefined if it does not listen. */
  get url(): string | undefined {
    return this.#url;
  }

  /**
   * Returns a connection to the API server, as the administrator, that speaks HTTP/1.1 without
   * encryption. It stays in the process.
   */
  connect(): Duplex {
    return this.connectAs(authenticated(ADMIN_USER));
  }

  /** Returns such a connection of another user. */
  connectAs(user: User): Duplex {
    return this.#clients.connect(user);
  }

  /**
   * Returns a client whose requests are made by the user. Its user agent names it in managed
   * fields.
   */
  clientOf(user: User, userAgent?: string): Client {
    return this.#clients.ofProgram(user, undefined, userAgent);
  }

  /** Returns a client of the administrator that faults know as a component of its own. */
  clientOfController(component: string, userAgent: string): Client {
    return this.#clients.ofProgram(ADMIN_USER, component, userAgent);
  }

  /** See Kubelets: of the nodes of this thread. */
  stopNode(name: string): Promise<void> {
    return this.#components.kubelets.stopNode(name);
  }

  startNode(name: string): Promise<void> {
    return this.#components.kubelets.startNode(name);
  }

  quietNodes(): ReadonlySet<string> {
    return this.#components.kubelets.quiet();
  }

  /**
   * Once. Starts everything; resolves when the nodes are ready. What was started is stopped again
   * if that fails.
   */
  async begin(): Promise<void> {
    try {
      await this.beginServer();
      await this.beginComponents();
      await this.#waitForNodes();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Once. Starts the API server alone. */
  async beginServer(): Promise<void> {
    const { progress, listen, encryption, access } = this.#config;
    const { signal } = this.#abort;
    progress?.({ step: 'starting the API server' });
    if (listen !== undefined) {
      this.#url = (await this.#server.listen()).url;
      this.#keepCertificates();
    }
    await this.#server.start();
    if (this.#url !== undefined)
      this.#workers?.start(this.#server, Number(new URL(this.#url).port));
    void encryption?.keepLoaded();
    void access?.keepLoaded?.(signal, () => this.#workers?.settingsChanged());
    await this.#permitPodNetwork();
    if (this.#certificates !== undefined) await permitConsole(this.#config, this.client);
  }

  /**
   * Once, after beginServer(). Starts everything else. The nodes may not be ready when it resolves.
   */
  async beginComponents(): Promise<void> {
    const { thread, logger, progress, kubeletPorts } = this.#config;
    const total = this.#nodeNames().length;
    progress?.({ step: 'starting nodes', done: 0, total });
    const started = { here: 0, inThread: 0 };
    const report = (): void =>
      progress?.({ step: 'starting nodes', done: started.here + started.inThread, total });
    this.#onNodeStarted = (count) => {
      started.here = count;
      report();
    };
    await Promise.all([
      this.#addons.start(this.#abort.signal),
      this.#components.start(),
      ...this.#standbys.map((components) => components.start()),
      thread?.components.start({
        handlerOf: (user) => this.#clients.handlerOf(user),
        logger,
        control: this.#control(),
        nodes: thread.nodes,
        nodesInAll: total,
        // The controllers are in the thread, too, and know when its nodes have renewed their Leases.
        makeHeartbeats: (batch) => this.#makeHeartbeats(batch, true),
        kubeletPorts,
        onNodeStarted: (count) => {
          started.inThread = count;
          report();
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

  /** Renews the certificates, until the cluster stops. */
  #keepCertificates(): void {
    this.#certificates?.keepRenewed(
      {
        onPeriod: () => this.#connections.forgetCertificate(),
        onServing: (pair) => {
          this.#server.setTls(pair);
          this.#workers?.setTls(pair);
        },
        onProxyClient: () => this.#workers?.settingsChanged(),
        onKubelet: (pair) => {
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

  /** Waits until pods can run. The cluster works without nodes that are not ready in time. */
  async #waitForNodes(): Promise<void> {
    const { clock, logger, progress, readyTimeoutMs = 60_000 } = this.#config;
    const { controllers, leaderElect = false, controlPlanes = 1 } = this.#config;
    const names = this.#nodeNames();
    const missing = await waitForNodes(
      {
        client: this.client,
        clock,
        names,
        isUntainted:
          controllers === undefined ||
          controllers.includes('node-lifecycle-controller') ||
          // Another process on the same store may run it.
          (leaderElect && controlPlanes === 1),
        timeoutMs: readyTimeoutMs,
        onProgress: (done) =>
          progress?.({ step: 'waiting for nodes to be ready', done, total: names.length }),
      },
      this.#abort.signal,
    );
    if (missing.length === 0) return;
    // They may come later.
    logger.warn('nodes are not ready yet', {
      count: missing.length,
      nodes: missing.slice(0, 10).join(', '),
    });
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

  /** Returns the metrics of everything besides the API server in Prometheus' format. */
  async #metrics(): Promise<string> {
    const { faults, access, encryption } = this.#config;
    const texts = await Promise.all(this.#running.map(async (components) => components.metrics()));
    return (
      texts.join('') +
      this.#addons.metrics() +
      (faults?.metrics() ?? '') +
      (this.#workers?.metrics() ?? '') +
      (access?.metrics?.() ?? '') +
      (encryption?.metrics() ?? '')
    );
  }

  /** Returns the last decisions of the scheduler, latest first. */
  async #decisions(): Promise<readonly Decision[]> {
    const all = await Promise.all(this.#running.map(async (components) => components.decisions()));
    return all.flat().sort((a, b) => b.timeMs - a.timeMs);
  }

  /** See MakeHeartbeats. */
  async #makeHeartbeats(batch: HeartbeatBatch, isKnown: boolean): Promise<readonly string[]> {
    try {
      return await this.#server.makeHeartbeats({
        ...batch,
        userAgent: KUBELET_AGENT,
        isKnown,
      });
    } catch (error) {
      this.#config.logger.error('heartbeats not made together, kubelets make them', { err: error });
      return batch.nodes;
    }
  }

  /** Idempotent. Containers go on running. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const problems: unknown[] = [];
    const note = (results: readonly PromiseSettledResult<unknown>[]): void => {
      for (const result of results) if (result.status === 'rejected') problems.push(result.reason);
    };
    const all = async (steps: readonly Promise<unknown>[]): Promise<void> =>
      note(await Promise.allSettled(steps));
    this.#abort.abort(new Error('the cluster stops'));
    note(await this.#addons.ended());
    await all(this.#running.map((components) => components.stop()));
    await all([this.#workers?.stop() ?? Promise.resolve(), this.#server.stop()]);
    await all([this.#config.storage.close()]);
    const runtimes = new Set(this.#config.nodes.map((node) => node.runtime));
    await all([...runtimes].map((runtime) => runtime.close()));
    if (problems.length > 0)
      throw new AggregateError(problems, 'the cluster has not stopped cleanly');
  }
}
