// Simulated nodes whose kubelets have nothing to do. Each has a dormant kubelet, which reports the
// node and costs nothing else. One informer of pods for all of them finds the nodes with work; the
// kubelet of such a node begins, and takes over silently.
//
// Work is a pod that is not at rest (see kubelet/dormant/at-rest.ts), a change of a pod of the node,
// of a ConfigMap or Secret that it refers to, or in the runtime, and a connection to the node.

import { configMaps, nodes, pods, secrets, type Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory, type SharedInformer } from '#client/informers/index.ts';
import type { KubeletConfig } from '#kubelet/config.ts';
import { isPodAtRest } from '#kubelet/dormant/at-rest.ts';
import { DormantKubelet } from '#kubelet/dormant/dormant-kubelet.ts';
import { ObjectTracker, references } from '#kubelet/objects.ts';
import { watchObject } from '#kubelet/watch-object.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { nextTurn } from '#machinery/turn.ts';
import { forEachOf, Slots } from './slots.ts';

export interface DormantNodesConfig {
  /** Reads nodes, pods, ConfigMaps and Secrets. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Returns the configuration of the node's kubelet. */
  readonly kubelet: (node: string) => KubeletConfig;
  /** Starts a kubelet in the place of the dormant one. */
  readonly begin: (node: string, config: KubeletConfig) => Promise<void>;
  /** Called when a kubelet has not begun. */
  readonly onError: (node: string, error: unknown) => void;
}

/** Nodes that are registered at the same time. */
const REGISTERED_AT_ONCE = 64;
/** Kubelets that begin at the same time: a thousand would keep each other from being done. */
const BEGUN_AT_ONCE = 16;
const BY_NODE = 'node';

export class DormantNodes {
  readonly #config: DormantNodesConfig;
  readonly #asleep = new Map<string, DormantKubelet>();
  /** Kubelets that are beginning. */
  readonly #waking = new Map<string, Promise<void>>();
  readonly #slots = new Slots(BEGUN_AT_ONCE);
  /** Ends when no node is asleep. */
  readonly #watching = new AbortController();
  readonly #podInformer: SharedInformer<Immutable<Pod>>;
  readonly #informers: SharedInformerFactory;
  readonly #objects: ObjectTracker;
  #background: Promise<unknown> = Promise.resolve();

  constructor(config: DormantNodesConfig) {
    this.#config = config;
    const { client, clock, random, logger, signal } = config;
    sharedByMany(this.#watching.signal);
    this.#informers = new SharedInformerFactory({ client, clock, random, logger });
    this.#podInformer = this.#informers.informerFor(pods);
    this.#podInformer.addIndexers({
      [BY_NODE]: ({ spec }) => (spec.nodeName === undefined ? [] : [spec.nodeName]),
    });
    this.#objects = new ObjectTracker({
      clock,
      watch: (kind, namespace, name, onChange) =>
        watchObject(
          { client, clock, random, logger },
          kind === 'secret' ? secrets : configMaps,
          namespace,
          name,
          onChange,
        ),
      onChange: (names) => {
        for (const name of names) this.#noticeWork(name);
      },
    });
    signal.addEventListener('abort', () => this.#endWatches(), { once: true });
  }

  has(node: string): boolean {
    return this.#asleep.has(node) || this.#waking.has(node);
  }

  /**
   * Once. Resolves when new nodes are registered; nodes that were there before and Ready are
   * reported again meanwhile. `onStarted`: called with the number of nodes so far.
   */
  async start(names: readonly string[], onStarted: (count: number) => void): Promise<void> {
    const { kubelet } = this.#config;
    if (names.length === 0) return;
    for (const name of names)
      this.#asleep.set(
        name,
        new DormantKubelet({ kubelet: kubelet(name), onWork: () => this.#noticeWork(name) }),
      );
    const nodeInformer = this.#informers.informerFor(nodes);
    nodeInformer.addEventHandler({
      onUpdate: (_, node) => this.#asleep.get(node.metadata.name)?.nodeSeen(node),
    });
    const podChanged = ({ spec }: Immutable<Pod>): void => this.#noticeWork(spec.nodeName ?? '');
    this.#podInformer.addEventHandler({
      onAdd: (pod, isInInitialList) => {
        if (!isInInitialList || !isPodAtRest(pod)) podChanged(pod);
      },
      onUpdate: (_, pod) => podChanged(pod),
      onDelete: podChanged,
    });
    const { signal } = this.#watching;
    this.#informers.start(signal);
    await nodeInformer.waitForSync(signal);
    const known = names.filter((name) => {
      const conditions = nodeInformer.lister.get('', name)?.status.conditions ?? [];
      return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    });
    let started = known.length;
    onStarted(started);
    const register = async (name: string): Promise<void> =>
      this.#asleep.get(name)?.register(nodeInformer.lister.get('', name));
    const isKnown = new Set(known);
    await forEachOf(
      names.filter((name) => !isKnown.has(name)),
      REGISTERED_AT_ONCE,
      async (name) => {
        await register(name);
        onStarted(++started);
      },
    );
    this.#background = this.#settle(names, register);
  }

  /** Resolves when the kubelet has begun. Undefined: the node is awake. */
  wake(name: string): Promise<void> | undefined {
    const dormant = this.#asleep.get(name);
    if (dormant !== undefined) {
      this.#asleep.delete(name);
      this.#objects.unregister(name);
      const waking = this.#slots
        .run(() => this.#begin(name, dormant))
        .finally(() => this.#waking.delete(name));
      this.#waking.set(name, waking);
      if (this.#asleep.size === 0) this.#endWatches();
    }
    return this.#waking.get(name);
  }

  /** After the signal. Resolves when nothing runs any more. */
  async stop(): Promise<void> {
    this.#endWatches();
    const asleep = [...this.#asleep.values()];
    this.#asleep.clear();
    await Promise.allSettled([...this.#waking.values(), ...asleep.map((each) => each.stop())]);
    await this.#background;
    await this.#informers.stopped();
  }

  #noticeWork(name: string): void {
    this.wake(name)?.catch((error: unknown) => {
      if (!this.#config.signal.aborted) this.#config.onError(name, error);
    });
  }

  async #begin(name: string, dormant: DormantKubelet): Promise<void> {
    const { signal, begin } = this.#config;
    await dormant.register();
    const config = await dormant.handOver();
    signal.throwIfAborted();
    await begin(name, config);
  }

  /** Reports the nodes that were there before, and finds those with work. */
  async #settle(
    names: readonly string[],
    register: (name: string) => Promise<void>,
  ): Promise<void> {
    const { signal } = this.#watching;
    try {
      await forEachOf(names, REGISTERED_AT_ONCE, register);
      await this.#podInformer.waitForSync(signal);
      for (const name of names) {
        await this.#look(name);
        await nextTurn();
      }
    } catch (error) {
      if (signal.aborted) return;
      const { logger } = this.#config;
      logger.error('dormant nodes: not compared with their pods, starting all', { err: error });
      for (const name of this.#asleep.keys()) this.#noticeWork(name);
    }
  }

  /** Wakes the node if its pods and its runtime do not agree. */
  async #look(name: string): Promise<void> {
    const dormant = this.#asleep.get(name);
    if (dormant === undefined) return;
    const bound = this.#podInformer.lister.byIndex(BY_NODE, name);
    if (!(await dormant.isAtRest(bound))) this.#noticeWork(name);
    if (this.#asleep.has(name))
      this.#objects.registerReferences(
        name,
        bound.flatMap((pod) => references(pod)),
      );
  }

  #endWatches(): void {
    this.#watching.abort(new Error('no node is dormant'));
    this.#objects.stop();
  }
}
