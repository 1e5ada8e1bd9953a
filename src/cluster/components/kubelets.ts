// The kubelets of the nodes of one thread: they begin with the cluster, or when there is work for
// them, and are stopped, started again and restarted after errors one by one.

import type { Duplex } from 'node:stream';
import { API_SERVER_USER } from '#apiserver/server-user.ts';
import type { KubeletConfig } from '#kubelet/config.ts';
import { Kubelet } from '#kubelet/kubelet.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import type { KeyPair } from '../credentials/pki.ts';
import { RestartBackoff } from '../faults/index.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { type AwakeKubelet, DormantNodes } from '../nodes/dormant-nodes.ts';
import { SleepingNodes } from '../nodes/sleeping-nodes.ts';
import { forEachOf } from '#machinery/slots.ts';
import type { ComponentsConfig } from './config.ts';
import { CONTROLLER_MANAGER_USER } from './control-plane.ts';
import { KubeletConfigs } from './kubelet-configs.ts';
import type { NodeNetwork } from './node-network.ts';
import type { Supervisor } from './supervisor.ts';

/**
 * Kubelets that begin at the same time. A kubelet that begins reads its pods and brings all of them
 * together with what runs: a thousand at once would keep each other from being done before their
 * requests time out.
 */
const STARTING_KUBELETS = 16;

interface Services {
  readonly supervisor: Supervisor;
  readonly network: Pick<NodeNetwork, 'policiesOf'>;
}

export class Kubelets {
  readonly #config: ComponentsConfig;
  readonly #supervisor: Supervisor;
  readonly #configs: KubeletConfigs;
  /** By name. */
  readonly #nodes: ReadonlyMap<string, ClusterNode>;
  /** By node: those that run. */
  readonly #kubelets = new Map<string, Kubelet>();
  /** By node: kubelets that are being restarted after an error. */
  readonly #restarts = new Map<string, Promise<void>>();
  readonly #backoffs = new Map<string, RestartBackoff>();
  readonly #sleeping: SleepingNodes | undefined;
  readonly #dormant: DormantNodes | undefined;

  constructor(config: ComponentsConfig, { supervisor, network }: Services) {
    this.#config = config;
    this.#supervisor = supervisor;
    this.#configs = new KubeletConfigs(config, { supervisor, network });
    this.#nodes = new Map(config.nodes.map((node) => [node.name, node]));
    const { clock, sleepingNodes, simulation } = config;
    if (sleepingNodes !== undefined)
      this.#sleeping = new SleepingNodes({
        ...sleepingNodes,
        clock,
        simulation,
        signal: supervisor.signal,
        begin: (name) => this.#startNode(this.#nodeNamed(name), true),
        onError: (error) => supervisor.fail(error),
      });
    if (config.dormantNodes === true) this.#dormant = this.#makeDormantNodes();
  }

  /** See HeartbeatBatches. Undefined: the Lease of the node is not renewed in batches. */
  renewedAt(node: string): number | undefined {
    return this.#configs.renewedAt(node);
  }

  /** Once. Resolves when the kubelets have begun. */
  async start(): Promise<void> {
    const { nodes, onNodeStarted, resumes = false, stoppedNodes } = this.#config;
    let started = 0;
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
  }

  #makeDormantNodes(): DormantNodes {
    const { clientOf, random, logger, faults } = this.#config;
    const name = 'dormant-nodes';
    return new DormantNodes({
      client: clientOf(CONTROLLER_MANAGER_USER, name),
      clock: this.#supervisor.clockOf(name),
      random: random.derive(name),
      logger,
      signal: this.#supervisor.signal,
      kubelet: (node) => this.#configs.of(this.#nodeNamed(node), false),
      begin: async (node, config) => {
        await this.#run(this.#nodeNamed(node), config);
        return this.#awakeKubelet(node);
      },
      onError: (node, error) => {
        if (faults === undefined) this.#supervisor.fail(error);
        else this.#beginRestart(this.#nodeNamed(node));
      },
    });
  }

  /** Has the node's kubelet check its node, if it runs. */
  checkNode(name: string): void {
    this.#kubelets.get(name)?.checkNode();
  }

  /** The kubelets serve with another certificate. */
  setCertificate(pair: KeyPair): void {
    this.#configs.setCertificate(pair);
  }

  /** Resolves when the kubelet of the node runs, if the node was asleep. */
  wake(node: string): Promise<void> {
    return this.#sleeping?.wake(node) ?? Promise.resolve();
  }

  /**
   * Returns the nodes whose kubelets do nothing but report themselves until their pods change. Only
   * with a simulation.
   */
  quiet(): ReadonlySet<string> {
    const quiet = new Set(this.#sleeping?.names());
    for (const [name, kubelet] of this.#kubelets)
      if (this.#configs.pendingReactions(name) === 0 && !kubelet.followsObjects) quiet.add(name);
    return quiet;
  }

  /** A connection to the node's kubelet; undefined if it does not run here. */
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
    await this.wake(name);
    if (!this.#kubelets.has(name)) await this.#startNode(node);
  }

  /** Stops the kubelets that run. Resolves with how they ended. */
  stop(): Promise<PromiseSettledResult<void>[]> {
    return Promise.allSettled([...this.#kubelets.values()].map((kubelet) => kubelet.stop()));
  }

  /** After stop() and the supervisor's abort(): stops those that restarts have begun meanwhile. */
  async stopRestarted(): Promise<PromiseSettledResult<void>[]> {
    await this.#dormant?.stop();
    await Promise.allSettled(this.#restarts.values());
    return this.stop();
  }

  #nodeNamed(name: string): ClusterNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new TypeError(`the cluster has no node ${JSON.stringify(name)}`);
    return node;
  }

  #startNode(node: ClusterNode, takesOver = false): Promise<void> {
    return this.#run(node, this.#configs.of(node, takesOver));
  }

  async #run(node: ClusterNode, config: KubeletConfig): Promise<void> {
    const kubelet = new Kubelet(config);
    this.#kubelets.set(node.name, kubelet);
    this.#watchFaults(node);
    this.#config.simulation?.register(`kubelet/${node.name}`, async (down) => {
      await this.stopNode(node.name);
      await down();
      if (!this.#supervisor.signal.aborted) await this.startNode(node.name);
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
      this.#restart(node).finally(() => this.#restarts.delete(name)),
    );
  }

  async #restart(node: ClusterNode): Promise<void> {
    const { clock, logger, faults } = this.#config;
    const { name } = node;
    const { signal } = this.#supervisor;
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
}
