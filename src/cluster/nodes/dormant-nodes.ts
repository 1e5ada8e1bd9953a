// Simulated nodes whose kubelets have nothing to do. Each has a dormant kubelet, which reports the
// node and costs nothing else. One informer of pods for all of them finds the nodes with work; the
// kubelet of such a node begins, and takes over silently. When the node has been idle for a while, a
// dormant kubelet takes its place again.
//
// Work is a pod that is not at rest (see kubelet/dormant/at-rest.ts), a change of a pod of the node
// that a kubelet reacts to, of a ConfigMap or Secret that it refers to, or in the runtime, and a
// connection to the node.

import { type Node, nodes, type Pod, pods, services } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory, type SharedInformer } from '#client/informers/index.ts';
import type { KubeletConfig } from '#kubelet/config.ts';
import {
  hasOnlyRunning,
  isPodAtRest,
  isQuietChange,
  listOutline,
} from '#kubelet/dormant/at-rest.ts';
import { ConditionRestorer } from '#kubelet/dormant/condition-restorer.ts';
import { DormantKubelet } from '#kubelet/dormant/dormant-kubelet.ts';
import { followServices, type ServiceVariables } from '#kubelet/env/service-variables.ts';
import { ObjectTracker, references, type WatchObject } from '#kubelet/objects.ts';
import { ApiPodWriter } from '#kubelet/pod-writer.ts';
import type { SharedObjects } from '#kubelet/predecessor.ts';
import type { HeldPort } from '#kubelet/server/held-port.ts';
import { watchesOf } from '#kubelet/watch-object.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { forEachOf, Slots } from '#machinery/slots.ts';
import { nextTurn } from '#machinery/turn.ts';
import { IdleNodes } from './idle-nodes.ts';
import { sharedWatches } from './shared-watches.ts';

export interface DormantNodesConfig {
  /** Reads nodes, pods, services, ConfigMaps and Secrets. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Returns the configuration of the node's kubelet. */
  readonly kubelet: (node: string) => KubeletConfig;
  /** Starts a kubelet in the place of the dormant one. */
  readonly begin: (node: string, config: KubeletConfig) => Promise<AwakeKubelet>;
  /** Called when a kubelet has not begun, or not gone back to sleep: the node has no kubelet. */
  readonly onError: (node: string, error: unknown) => void;
}

/** A kubelet that has begun in the place of a dormant one. */
export interface AwakeKubelet {
  /** See Kubelet. False if it is no longer the node's kubelet. */
  isIdle(unusedForMs: number): boolean;
  /** Stops it. Containers go on running. */
  stop(): Promise<void>;
}

/** Nodes that are registered at the same time. */
const REGISTERED_AT_ONCE = 64;
/** Kubelets that begin at the same time: a thousand would keep each other from being done. */
const BEGUN_AT_ONCE = 16;
/** Kubelets that go back to sleep at the same time. */
const RESTED_AT_ONCE = 4;
/**
 * How long a node must be idle before its kubelet goes back to sleep, in milliseconds: a rollout
 * changes a node again and again, and each beginning costs as much as some pods.
 */
const IDLE_MS = 60_000;
const BY_NODE = 'node';
const BY_NAME = 'name';

export class DormantNodes {
  readonly #config: DormantNodesConfig;
  readonly #asleep = new Map<string, DormantKubelet>();
  /** Kubelets that are beginning. */
  readonly #waking = new Map<string, Promise<void>>();
  readonly #slots = new Slots(BEGUN_AT_ONCE);
  /** Kubelets that have begun and may go back to sleep. */
  readonly #awake = new Map<string, AwakeKubelet>();
  /** The ports of nodes that are awake. */
  readonly #ports = new Map<string, HeldPort>();
  /** Nodes that are going back to sleep. These promises do not reject. */
  readonly #resting = new Map<string, Promise<void>>();
  readonly #restSlots = new Slots(RESTED_AT_ONCE);
  /** Nodes that had to be woken at once. They stay awake until a pod of theirs changes. */
  readonly #restless = new Set<string>();
  readonly #idle: IdleNodes;
  readonly #watching = new AbortController();
  readonly #podInformer: SharedInformer<Immutable<Pod>>;
  readonly #nodeInformer: SharedInformer<Immutable<Node>>;
  readonly #services: ServiceVariables;
  readonly #informers: SharedInformerFactory;
  readonly #watchObject: WatchObject;
  /** The objects that pods of nodes without a kubelet refer to. */
  readonly #objects: ObjectTracker;
  readonly #restorer: ConditionRestorer;
  #background: Promise<unknown> = Promise.resolve();

  constructor(config: DormantNodesConfig) {
    this.#config = config;
    const { client, clock, random, logger, signal } = config;
    sharedByMany(this.#watching.signal);
    this.#informers = new SharedInformerFactory({ client, clock, random, logger });
    this.#nodeInformer = this.#informers.informerFor(nodes);
    this.#nodeInformer.addIndexers({ [BY_NAME]: ({ metadata }) => [metadata.name] });
    this.#services = followServices(this.#informers);
    this.#podInformer = this.#informers.informerFor(pods);
    this.#podInformer.addIndexers({
      [BY_NODE]: ({ spec }) => (spec.nodeName === undefined ? [] : [spec.nodeName]),
    });
    this.#watchObject = sharedWatches(watchesOf({ client, clock, random, logger }));
    this.#objects = new ObjectTracker({
      clock,
      watch: this.#watchObject,
      onChange: (names) => {
        for (const name of names) this.#noticeWork(name);
      },
    });
    this.#restorer = new ConditionRestorer({
      clock,
      logger,
      signal: this.#watching.signal,
      writerOf: (name) => new ApiPodWriter(config.kubelet(name).client, undefined),
      onFailure: (name) => this.#noticeWork(name),
    });
    this.#idle = new IdleNodes({
      clock,
      idleMs: IDLE_MS,
      onIdle: (name) => void this.#restSlots.run(() => this.#tryToRest(name)),
    });
    signal.addEventListener('abort', () => this.#endWatches(), { once: true });
  }

  /** Reports whether the node has no kubelet that has begun. */
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
    const nodeInformer = this.#nodeInformer;
    const nodeSeen = (node: Immutable<Node>): void =>
      this.#asleep.get(node.metadata.name)?.nodeSeen(node);
    nodeInformer.addEventHandler({ onAdd: nodeSeen, onUpdate: (_, node) => nodeSeen(node) });
    const podChanged = (pod: Immutable<Pod>): void => {
      const { nodeName = '' } = pod.spec;
      this.#restorer.forget(pod);
      this.#restless.delete(nodeName);
      if (this.#awake.has(nodeName)) this.#idle.touch(nodeName);
      else this.#noticeWork(nodeName);
    };
    this.#podInformer.addEventHandler({
      onAdd: (pod, isInInitialList) => {
        if (!isInInitialList || !isPodAtRest(pod)) podChanged(pod);
      },
      onUpdate: (before, pod) => {
        if (isQuietChange(before, pod)) return;
        const isAsleep = this.#asleep.has(pod.spec.nodeName ?? '');
        if (!isAsleep || !this.#restorer.takes(before, pod)) podChanged(pod);
      },
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
      const resting = this.#resting.get(name);
      const waking = this.#slots
        .run(async () => {
          await resting;
          await this.#begin(name, dormant).finally(() => this.#objects.unregister(name));
        })
        .finally(() => this.#waking.delete(name));
      this.#waking.set(name, waking);
      waking.catch((error: unknown) => {
        if (!this.#config.signal.aborted) this.#config.onError(name, error);
      });
    }
    return this.#waking.get(name);
  }

  /** After the signal. Resolves when nothing runs any more. */
  async stop(): Promise<void> {
    this.#endWatches();
    const asleep = [...this.#asleep.values()];
    this.#asleep.clear();
    await Promise.allSettled([
      ...this.#waking.values(),
      ...this.#resting.values(),
      ...asleep.map((each) => each.stop()),
    ]);
    await this.#background;
    await this.#informers.stopped();
  }

  #noticeWork(name: string): void {
    this.wake(name)?.catch(() => {
      // wake() has reported it.
    });
  }

  async #begin(name: string, dormant: DormantKubelet): Promise<void> {
    const { signal, begin } = this.#config;
    await dormant.register();
    const { config, port } = await dormant.handOver();
    signal.throwIfAborted();
    // The kubelet reads them instead of lists of its own.
    const shared = [this.#podInformer, this.#nodeInformer, this.#informers.informerFor(services)];
    await Promise.all(shared.map((informer) => informer.waitForSync(this.#watching.signal)));
    const predecessor = { reporter: undefined, ...config.predecessor, shared: this.#shared(name) };
    const kubelet = await begin(name, { ...config, predecessor });
    if (port !== undefined) this.#ports.set(name, port);
    this.#awake.set(name, kubelet);
    this.#idle.touch(name);
  }

  #shared(name: string): SharedObjects {
    return {
      pods: this.#podInformer.view(BY_NODE, name),
      node: this.#nodeInformer.view(BY_NAME, name),
      watchObject: this.#watchObject,
      services: this.#services,
    };
  }

  /** Lets the kubelet of a node that has been idle go back to sleep, unless the node needs it. */
  async #tryToRest(name: string): Promise<void> {
    const { kubelet: configOf } = this.#config;
    const kubelet = this.#awake.get(name);
    const bound = this.#podInformer.lister.byIndex(BY_NODE, name);
    if (kubelet === undefined || this.#restless.has(name)) return;
    // A pod changes before it is at rest, and the change is activity.
    if (!bound.every((pod) => isPodAtRest(pod))) return;
    const config = configOf(name);
    const { runtime } = config;
    const running = runtime.outline?.() ?? (await listOutline(runtime.runtime));
    if (this.#awake.get(name) !== kubelet) return;
    if (!hasOnlyRunning(bound.length, running) || !kubelet.isIdle(IDLE_MS)) {
      this.#idle.touch(name);
      return;
    }
    const resting = this.#rest(name, kubelet, config).finally(() => this.#resting.delete(name));
    this.#resting.set(name, resting);
    await resting;
    await this.#look(name, () => this.#restless.add(name)).catch((error: unknown) => {
      this.#config.logger.warn('node not compared with its pods', { node: name, err: error });
      this.#noticeWork(name);
    });
  }

  /** Puts a dormant kubelet in the place of the node's kubelet. */
  async #rest(name: string, kubelet: AwakeKubelet, config: KubeletConfig): Promise<void> {
    const port = this.#ports.get(name);
    this.#ports.delete(name);
    this.#awake.delete(name);
    const dormant = new DormantKubelet({
      kubelet: { ...config, takesOver: true },
      onWork: () => this.#noticeWork(name),
      ...(port !== undefined && { port }),
    });
    // From now on work is noticed, and a kubelet begins when this one has stopped.
    this.#asleep.set(name, dormant);
    try {
      await kubelet.stop();
      await dormant.register();
    } catch (error) {
      const { signal, logger, onError } = this.#config;
      if (signal.aborted) return;
      logger.warn('kubelet has not gone back to sleep', { node: name, err: error });
      // If there is work already, the kubelet that begins fails in the same way.
      if (!this.#asleep.delete(name)) return;
      await dormant.stop();
      onError(name, error);
    }
  }

  /** Reports the nodes that were there before, and finds those with work. */
  async #settle(
    names: readonly string[],
    register: (name: string) => Promise<void>,
  ): Promise<void> {
    const { signal } = this.#watching;
    try {
      const later: string[] = [];
      await forEachOf(names, REGISTERED_AT_ONCE, async (name) => {
        await register(name);
        if (this.#podInformer.hasSynced()) await this.#look(name);
        else {
          later.push(name);
          this.#asleep.get(name)?.release();
        }
        await nextTurn();
      });
      await this.#podInformer.waitForSync(signal);
      for (const name of later) {
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

  /** Wakes the node if its pods and its runtime do not agree, and calls `onWork` before. */
  async #look(name: string, onWork?: () => void): Promise<void> {
    const dormant = this.#asleep.get(name);
    if (dormant === undefined) return;
    const bound = this.#podInformer.lister.byIndex(BY_NODE, name);
    if (!(await dormant.isAtRest(bound))) {
      onWork?.();
      this.#noticeWork(name);
    }
    if (this.#asleep.has(name))
      this.#objects.registerReferences(
        name,
        bound.flatMap((pod) => references(pod)),
      );
  }

  #endWatches(): void {
    this.#watching.abort(new Error('the nodes stop'));
    this.#objects.stop();
    this.#idle.clear();
  }
}
