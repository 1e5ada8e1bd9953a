// Monitors the health of nodes. A node without a heartbeat gets the condition Ready=Unknown, its
// pods become not ready, and nodes are tainted according to their conditions. The taint-eviction
// controller acts on the NoExecute taints.
// - Monitor pass, every 5 s: reads heartbeats, writes conditions, computes the state of each zone
//   from these nodes, and decides which nodes may start to evict their pods.
// - Workers, one node at a time, after each change of the node and after each decision: write the
//   taints.
//
// Only the monitor pass lets a node start its eviction. A worker that decided by itself would use
// the state of the zone before the event that woke it, and would evict from the last node of a
// cluster when it fails.

import { type Lease, leases } from '#api/groups/coordination/v1/index.ts';
import { type Node, nodes, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { formatTime, parseTime } from '#machinery/text/time.ts';
import {
  type RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ANYTHING, pause } from '#machinery/clock.ts';
import { nextTurn } from '#machinery/turn.ts';
import {
  type Counter,
  exponentialBuckets,
  type Family,
  type Histogram,
  Instruments,
} from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isPodReady } from '../pod-state.ts';
import { BY_NODE, byNode } from '../pods-by-node.ts';
import {
  conditionsOfSilentNode,
  type Heartbeat,
  heartbeatAfter,
  passThatSees,
  readyCondition,
} from './node-health.ts';
import {
  type Eviction,
  isEvicting,
  readyStatus,
  wantedNoExecute,
  wantedTaints,
} from './node-taints.ts';
import {
  countsForZone,
  EvictionLimiters,
  evictionRates,
  type EvictionRates,
  zoneOf,
} from './zone-state.ts';

type ReadNode = Immutable<Node>;

export interface NodeLifecycleConfig extends ControllerConfig {
  /** The time between two monitor passes. Default: 5 s. */
  readonly monitorPeriodMs?: number;
  /** A node without a heartbeat for this long is in state Unknown. Default: 50 s. */
  readonly monitorGracePeriodMs?: number;
  /** The same for a node that has never reported. Default: 60 s. */
  readonly startupGracePeriodMs?: number;
  readonly evictionRates?: EvictionRates;
  /**
   * Reports whether a node cannot fall silent without a write to the API. While that is so of all
   * nodes, passes are left out on a lazy virtual clock. Such nodes have this clock. Default: it is
   * so of no node.
   */
  readonly isAlive?: (nodeName: string) => boolean;
  /**
   * Returns when a renewal of the node's Lease was begun that the API has stored, on the monotonic
   * clock: for renewals that watches leave out. Default: watches have all of them.
   */
  readonly renewedAt?: (nodeName: string) => number | undefined;
  /**
   * The controller takes over from one that ran until this moment: it does not report the nodes
   * that exist as new, and counts silence from their last report. Default: false.
   */
  readonly takesOver?: boolean;
  /**
   * Nodes that are processed at the same time, by the monitor pass and by the workers. Default: 8.
   */
  readonly workers?: number;
}

/**
 * The result of the monitor pass for one node: its Ready condition when the eviction was allowed.
 */
interface EvictionPermit {
  readonly uid: string;
  readonly readyStatus: string;
  readonly transitionTime: string | undefined | null;
}

/** A write of a node's status is tried this many times before the node is left out of the pass. */
const STATUS_WRITE_ATTEMPTS = 5;

/** The number of nodes at which a pass looks in one turn of the event loop. */
const NODES_PER_TURN = 1000;

const NODE_LEASE_NAMESPACE = 'kube-node-lease';

export class NodeLifecycleController implements Controller {
  readonly name = 'node-lifecycle-controller';
  readonly run: Controller['run'];
  readonly #config: NodeLifecycleConfig;
  readonly #nodes: SharedInformer<ReadNode>;
  readonly #leases: SharedInformer<Immutable<Lease>>;
  readonly #pods: SharedInformer<Immutable<Pod>>;
  readonly #queue: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #evictions: Family<Counter>;
  readonly #lookDuration: Histogram;
  readonly #roundDuration: Histogram;
  /** By zone: the nodes of the last pass that count for its state. */
  #zones: ReadonlyMap<string, readonly ReadNode[]> = new Map();
  /** By node name: the last heartbeat. */
  readonly #heartbeats = new Map<string, Heartbeat>();
  readonly #limiters: EvictionLimiters;
  /**
   * By node name: nodes that the last pass allowed to start their eviction and that are not tainted
   * yet.
   */
  readonly #permits = new Map<string, EvictionPermit>();
  /** Nodes that could not have fallen silent in the last pass: their leases are not looked at. */
  #alive: ReadonlySet<string> = new Set();
  #lastPass: { readonly at: number; readonly periodMs: number } | undefined;
  /** As of the last pass: every zone is in state FullDisruption. */
  #allDisrupted = false;

  constructor(config: NodeLifecycleConfig) {
    const { clock, workers = 8, monitorPeriodMs = 5000 } = config;
    this.#config = config;
    this.#limiters = new EvictionLimiters(clock, config.evictionRates);
    const instruments = config.instruments ?? new Instruments();
    const description = (name: string, help: string) => ({ name: `node_collector_${name}`, help });
    this.#evictions = instruments.counter({
      ...description('evictions_total', 'Nodes from which eviction began.'),
      labels: ['zone'],
    });
    const histogram = (name: string, help: string, first: number): Histogram =>
      instruments.histogram(description(name, help), exponentialBuckets(first, 4, 8)).with();
    this.#lookDuration = histogram(
      'update_node_health_duration_seconds',
      'How long a look at a node took.',
      0.001,
    );
    this.#roundDuration = histogram(
      'update_all_nodes_health_duration_seconds',
      'How long a look at all nodes took.',
      0.01,
    );
    const gauge = (
      name: string,
      help: string,
      value: (zone: readonly ReadNode[]) => number,
    ): void =>
      instruments.gauge({ ...description(name, help), labels: ['zone'] }, () =>
        [...this.#zones].map(([zone, members]) => [[zoneLabel(zone)], value(members)]),
      );
    const unhealthy = (members: readonly ReadNode[]): number =>
      members.filter((node) => readyStatus(node) !== 'True').length;
    gauge('zone_size', 'Nodes of a zone.', (members) => members.length);
    gauge('unhealthy_nodes_in_zone', 'Nodes of a zone that are not ready.', unhealthy);
    gauge(
      'zone_health',
      'How many of a hundred nodes of a zone are ready.',
      (members) => (100 * (members.length - unhealthy(members))) / members.length,
    );
    const builder = new ControllerBuilder(config, {
      queue: 'node_lifecycle_controller',
      workers,
      reconcile: (name, signal) => this.#reconcile(name, signal),
    });
    this.#queue = builder.queue;
    this.#recorder = builder.recorder('node-controller');
    this.#nodes = builder.for(nodes, {
      predicate: { delete: false },
      onSeen: (node, before) => {
        if (before === undefined && !(config.takesOver === true && !this.#nodes.hasSynced()))
          this.#event(
            node,
            'RegisteredNode',
            `Registered Node ${node.metadata.name} in Controller`,
          );
        // Later ones are observed by the passes, as upstream.
        if (before === undefined) this.#observe(node);
      },
      onGone: (node) => {
        this.#heartbeats.delete(node.metadata.name);
        this.#permits.delete(node.metadata.name);
        this.#event(node, 'RemovingNode', `Removing Node ${node.metadata.name} from Controller`);
      },
    });
    this.#leases = builder.informerFor(leases, { namespace: NODE_LEASE_NAMESPACE });
    this.#pods = builder.informerFor(pods);
    this.#pods.addIndexers({ [BY_NODE]: byNode });
    builder.alongside((signal) =>
      this.#monitorUntil(signal, monitorPeriodMs).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      }),
    );
    this.run = builder.complete();
  }

  async #monitorUntil(signal: AbortSignal, periodMs: number): Promise<void> {
    const { clock, isAlive } = this.#config;
    while (!signal.aborted) {
      const began = clock.monotonic();
      await this.#monitor(signal);
      if (signal.aborted) return;
      this.#lastPass = { at: began, periodMs };
      if (isAlive !== undefined) {
        const names = this.#nodes.lister.list().map(({ metadata }) => metadata.name);
        this.#alive = new Set(names.filter(isAlive));
      }
      if (this.#areAllAlive()) await pause(clock, periodMs, began, { topic: ANYTHING, signal });
      else await clock.sleep(periodMs, signal);
    }
  }

  #areAllAlive(): boolean {
    return this.#nodes.lister
      .list()
      .every((node) => this.#alive.has(node.metadata.name) && readyStatus(node) === 'True');
  }

  /** Runs one monitor pass over all nodes. */
  async #monitor(signal: AbortSignal): Promise<void> {
    const { clock, workers = 8 } = this.#config;
    const begun = clock.monotonic();
    const nodesNow = this.#nodes.lister.list();
    const observed: (ReadNode | undefined)[] = [...nodesNow];
    await forEachConcurrently(await this.#needingWork(nodesNow), workers, async (at) => {
      const node = nodesNow[at]!;
      const looked = clock.monotonic();
      try {
        observed[at] = undefined;
        const current = await this.#updateHealth(node, signal);
        if (current === undefined) return;
        observed[at] = current;
        if (readyCondition(current)?.status === 'Unknown') await this.#markPods(current, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#config.logger.warn(
          'node lifecycle: updating the health of a node failed, will retry',
          {
            node: node.metadata.name,
            err: error,
          },
        );
      } finally {
        this.#lookDuration.observe((clock.monotonic() - looked) / 1000);
      }
    });
    if (signal.aborted) return;
    this.#decideEvictions(observed.filter((node) => node !== undefined));
    this.#roundDuration.observe((clock.monotonic() - begun) / 1000);
  }

  /**
   * Returns the indices of the nodes that are silent or in status Unknown. Nearly all nodes are
   * neither, and are looked at without a promise, a thousand in each turn of the event loop.
   */
  async #needingWork(nodesNow: readonly ReadNode[]): Promise<readonly number[]> {
    const { clock } = this.#config;
    const found: number[] = [];
    for (const [at, node] of nodesNow.entries()) {
      if (at > 0 && at % NODES_PER_TURN === 0) await nextTurn();
      const looked = clock.monotonic();
      if (this.#isSilent(node) || readyCondition(node)?.status === 'Unknown') found.push(at);
      else this.#lookDuration.observe((clock.monotonic() - looked) / 1000);
    }
    return found;
  }

  /** Reports whether the node has had no heartbeat for longer than its grace period. */
  #isSilent(node: ReadNode): boolean {
    const {
      clock,
      isAlive,
      renewedAt,
      monitorGracePeriodMs = 50_000,
      startupGracePeriodMs = 60_000,
    } = this.#config;
    const { name } = node.metadata;
    const { seenAtMs } = this.#observe(node);
    if (isAlive?.(name) === true) return false;
    const graceMs =
      readyCondition(node) === undefined ? startupGracePeriodMs : monitorGracePeriodMs;
    const latest = Math.max(seenAtMs, renewedAt?.(name) ?? Number.NEGATIVE_INFINITY);
    return clock.monotonic() - latest > graceMs;
  }

  /** Records a heartbeat if the node or its lease shows a new one. */
  #observe(node: ReadNode): Heartbeat {
    const { name } = node.metadata;
    const renewal = this.#leases.lister.get(NODE_LEASE_NAMESPACE, name)?.spec.renewTime;
    const { clock } = this.#config;
    const heartbeat = heartbeatAfter(
      this.#heartbeats.get(name),
      node,
      renewal,
      this.#alive.has(name)
        ? passThatSees(renewal, this.#lastPass, clock)
        : clock.monotonic() - this.#silentMs(node, renewal),
    );
    this.#heartbeats.set(name, heartbeat);
    return heartbeat;
  }

  /**
   * Returns for how long the node has been silent when this controller takes over and sees it for
   * the first time.
   */
  #silentMs(node: ReadNode, renewal: string | null | undefined): number {
    const { takesOver = false, clock } = this.#config;
    // The lease may become known after the node.
    const before = this.#heartbeats.get(node.metadata.name);
    if (!takesOver || before?.leaseRenewal !== undefined) return 0;
    const beats = [renewal, readyCondition(node)?.lastHeartbeatTime].map(
      (time) => parseTime(time) ?? 0,
    );
    return Math.max(0, clock.now() - Math.max(...beats));
  }

  /**
   * Returns the node as it is after this pass: with conditions in status Unknown if it has been
   * silent for longer than its grace period. Returns undefined if the node is gone or changes with
   * each attempt; the pass then leaves it out.
   */
  async #updateHealth(cached: ReadNode, signal: AbortSignal): Promise<ReadNode | undefined> {
    const { client, clock } = this.#config;
    const { name, uid } = cached.metadata;
    let node = cached;
    for (let attempt = 1; attempt <= STATUS_WRITE_ATTEMPTS; attempt++) {
      if (!this.#isSilent(node)) return node;
      const ready = readyCondition(node);
      const conditions = conditionsOfSilentNode(node, formatTime(clock.now()));
      if (conditions === node.status.conditions) return node;
      try {
        const written = await client
          .resource(nodes)
          .updateStatus({ ...node, status: { ...node.status, conditions } }, { signal });
        if (ready?.status === 'True') {
          this.#config.logger.info(
            'node lifecycle: node has no heartbeat, its status is now Unknown',
            { node: name },
          );
          this.#event(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
        }
        return written;
      } catch (error) {
        if (apierrors.isNotFound(error)) return undefined;
        if (!apierrors.isConflict(error)) throw error;
      }
      // The cache is behind: the write that conflicted may be the heartbeat of the node.
      const fresh = await this.#read(name, signal);
      if (fresh === undefined || fresh.metadata.uid !== uid) return undefined;
      node = fresh;
    }
    return undefined;
  }

  async #read(name: string, signal: AbortSignal): Promise<ReadNode | undefined> {
    return apierrors.unlessMissing(this.#config.client.resource(nodes).get(name, { signal }));
  }

  /**
   * Computes the state of the zones from the nodes of this pass, and decides which nodes may start
   * their eviction.
   */
  #decideEvictions(observed: readonly ReadNode[]): void {
    const zones = new Map<string, ReadNode[]>();
    for (const node of observed) {
      if (!countsForZone(node)) continue;
      const zone = zoneOf(node);
      const others = zones.get(zone);
      if (others === undefined) zones.set(zone, [node]);
      else others.push(node);
    }
    this.#zones = zones;
    const rates = evictionRates(zones, this.#config.evictionRates);
    this.#limiters.setRates(new Set(observed.map(zoneOf)), rates);
    this.#setAllDisrupted(rates === undefined);
    for (const node of observed) {
      const { name, uid } = node.metadata;
      const ready = readyCondition(node);
      const wanted = wantedNoExecute(node);
      const isPending = wanted !== undefined && ready !== undefined && !isEvicting(node);
      if (this.#allDisrupted || !isPending) {
        this.#permits.delete(name);
        if (this.#allDisrupted && isEvicting(node)) this.#queue.add(name);
        continue;
      }
      const zone = zoneOf(node);
      // A node that an earlier pass allowed to start, and whose taint could not be written, needs
      // no further token.
      const hasToken = this.#permits.get(name)?.uid === uid && this.#limiters.isOpen(zone);
      if (hasToken || this.#limiters.tryTake(zone)) {
        this.#permits.set(name, {
          uid,
          readyStatus: ready.status,
          transitionTime: ready.lastTransitionTime,
        });
        this.#queue.add(name);
      } else {
        this.#permits.delete(name);
      }
    }
  }

  #setAllDisrupted(allDisrupted: boolean): void {
    if (this.#allDisrupted === allDisrupted) return;
    this.#allDisrupted = allDisrupted;
    if (allDisrupted) {
      this.#config.logger.info(
        'node lifecycle: all nodes are not ready, entering master disruption mode: nothing is evicted',
      );
      return;
    }
    this.#config.logger.info(
      'node lifecycle: some nodes are ready, exiting master disruption mode',
    );
    // While no node was ready, heartbeats may have been lost on their way: each node gets its whole
    // grace period again.
    const seenAtMs = this.#config.clock.monotonic();
    for (const [name, heartbeat] of this.#heartbeats)
      this.#heartbeats.set(name, { ...heartbeat, seenAtMs });
  }

  /**
   * Makes the pods of a silent node not ready, so that services do not send anything to them. Pods
   * of a node whose own kubelet reports Ready=False are left alone: that kubelet still reports on
   * them.
   */
  async #markPods(node: ReadNode, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#config;
    const { name } = node.metadata;
    for (const pod of this.#pods.lister.byIndex(BY_NODE, name)) {
      if (!isPodReady(pod)) continue;
      const condition = {
        type: 'Ready',
        status: 'False',
        lastTransitionTime: formatTime(clock.now()),
      };
      const patch = { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } };
      try {
        await client
          .resource(pods)
          .namespace(pod.metadata.namespace ?? '')
          .patch(pod.metadata.name, 'application/strategic-merge-patch+json', patch, {
            subresource: 'status',
            signal,
          });
      } catch (error) {
        // The pod is gone, or another pod has its name.
        if (apierrors.isNotFound(error) || apierrors.isConflict(error)) continue;
        throw error;
      }
      this.#recorder.event(
        { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata },
        'Warning',
        'NodeNotReady',
        'Node is not ready',
      );
    }
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const node = this.#nodes.lister.getByKey(name);
    if (node === undefined || node.metadata.deletionTimestamp !== undefined) return reconciled;
    const eviction = this.#eviction(node);
    const taints = wantedTaints(node, eviction, formatTime(this.#config.clock.now()));
    if (taints === undefined) return reconciled;
    const { uid, resourceVersion } = node.metadata;
    try {
      await this.#config.client
        .resource(nodes)
        .patch(
          name,
          'application/merge-patch+json',
          { metadata: { uid, resourceVersion }, spec: { taints } },
          { signal },
        );
      if (eviction === 'start' && this.#permits.delete(name))
        this.#evictions.with(zoneLabel(zoneOf(node))).value++;
      return reconciled;
    } catch (error) {
      if (apierrors.isNotFound(error)) return reconciled;
      if (apierrors.isConflict(error)) return requeue;
      throw error;
    }
  }

  /** Returns what the last pass decided about the node. */
  #eviction(node: ReadNode): Eviction {
    if (this.#allDisrupted) return 'cancel';
    const permit = this.#permits.get(node.metadata.name);
    const ready = readyCondition(node);
    // The permit is for the Ready condition that the pass has seen. A node that recovered and
    // failed again meanwhile needs another.
    const isPermitted =
      permit !== undefined &&
      permit.uid === node.metadata.uid &&
      permit.readyStatus === ready?.status &&
      permit.transitionTime === ready.lastTransitionTime;
    return isPermitted ? 'start' : 'hold';
  }

  #event(node: ReadNode, reason: string, message: string): void {
    const { name, uid } = node.metadata;
    this.#recorder.event({ kind: 'Node', name, uid }, 'Normal', reason, message);
  }
}

/**
 * Returns the label value of upstream's metrics: '' for nodes without region and zone, otherwise
 * both, separated by ":\\0:".
 */
function zoneLabel(zone: string): string {
  return zone === ':' ? '' : zone.replace(':', ':\0:');
}

/** Calls `visit` for each item, for at most `limit` items at the same time. */
async function forEachConcurrently<T>(
  items: readonly T[],
  limit: number,
  visit: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const work = async (): Promise<void> => {
    for (const item of rest) await visit(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
}
