// Watches over nodes: notices those that are not heard of any more, says so in their status and in that of their pods, and
// taints nodes as their conditions call for. The taint-eviction controller acts on the taints.

import { leases } from '../../api/coordination/v1/index.ts';
import type { Lease } from '../../api/coordination/v1/index.ts';
import { nodes, pods } from '../../api/core/v1/index.ts';
import type { Node, Pod } from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import { EventRecorder } from '../../client/events/index.ts';
import type { SharedInformer } from '../../client/informers/index.ts';
import { formatTime } from '../../client/time.ts';
import { RateLimitingQueue, TokenBucket, reconciled, requeue, runWorkers } from '../../client/workqueue/index.ts';
import type { ReconcileResult } from '../../client/workqueue/index.ts';
import * as apierrors from '../../machinery/apierrors.ts';
import * as wait from '../../machinery/wait.ts';
import { exponentialBuckets, Instruments } from '../../machinery/instruments.ts';
import type { Counter, Family, Histogram } from '../../machinery/instruments.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isPodReady } from '../pod-state.ts';
import { BY_NODE, byNode } from '../pods-by-node.ts';
import { hasTaint } from '../taints.ts';
import { conditionsOfSilentNode, heartbeatAfter, readyCondition } from './node-health.ts';
import type { Heartbeat } from './node-health.ts';
import { readyStatus, wantedNoExecute, wantedTaints } from './node-taints.ts';
import type { Eviction } from './node-taints.ts';
import { countsForZone, evictionRates, NORMAL_PER_SECOND, zoneOf } from './zone-state.ts';
import type { EvictionRates } from './zone-state.ts';

type ReadNode = Immutable<Node>;

export interface NodeLifecycleConfig extends ControllerConfig {
  /** How often all nodes are looked at. Default: 5 s. */
  readonly monitorPeriodMs?: number;
  /** A node that was not heard of for this long is in an unknown state. Default: 50 s. */
  readonly monitorGracePeriodMs?: number;
  /** The same for a node that has never reported. Default: 60 s. */
  readonly startupGracePeriodMs?: number;
  readonly evictionRates?: EvictionRates;
  /** Nodes whose taints are seen to at once. Default: 8. */
  readonly workers?: number;
}

const NODE_LEASE_NAMESPACE = 'kube-node-lease';

export class NodeLifecycleController implements Controller {
  readonly name = 'node-lifecycle-controller';
  readonly #config: NodeLifecycleConfig;
  readonly #nodes: SharedInformer<ReadNode>;
  readonly #leases: SharedInformer<Immutable<Lease>>;
  readonly #pods: SharedInformer<Immutable<Pod>>;
  readonly #queue: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #evictions: Family<Counter>;
  readonly #lookDuration: Histogram;
  readonly #roundDuration: Histogram;
  /** Zones with the nodes of the last look that say how they are. */
  #zones: ReadonlyMap<string, readonly ReadNode[]> = new Map();
  /** By node name. */
  readonly #heartbeats = new Map<string, Heartbeat>();
  /** Nodes a second from which pods may be evicted, by zone; undefined: everything is disrupted, nothing is evicted. */
  #rates: ReadonlyMap<string, number> | undefined = new Map();
  readonly #buckets = new Map<string, { readonly perSecond: number; readonly bucket: TokenBucket }>();

  constructor(config: NodeLifecycleConfig) {
    const { client, clock, random, logger, informers } = config;
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock, metrics: config.queueMetrics?.('node_lifecycle_controller') });
    this.#recorder = new EventRecorder({ client, clock, random, logger, component: 'node-controller' });
    const instruments = config.instruments ?? new Instruments();
    const description = (name: string, help: string) => ({ name: `node_collector_${name}`, help });
    this.#evictions = instruments.counter({
      ...description('evictions_total', 'Nodes from which eviction began.'),
      labels: ['zone'],
    });
    const histogram = (name: string, help: string, first: number): Histogram =>
      instruments.histogram(description(name, help), exponentialBuckets(first, 4, 8)).with();
    this.#lookDuration = histogram('update_node_health_duration_seconds', 'How long a look at a node took.', 0.001);
    this.#roundDuration = histogram('update_all_nodes_health_duration_seconds', 'How long a look at all nodes took.', 0.01);
    const gauge = (name: string, help: string, value: (zone: readonly ReadNode[]) => number): void =>
      instruments.gauge({ ...description(name, help), labels: ['zone'] }, () =>
        [...this.#zones].map(([zone, members]) => [[zoneLabel(zone)], value(members)]),
      );
    const unhealthy = (members: readonly ReadNode[]): number => members.filter((node) => readyStatus(node) !== 'True').length;
    gauge('zone_size', 'Nodes of a zone.', (members) => members.length);
    gauge('unhealthy_nodes_in_zone', 'Nodes of a zone that are not ready.', unhealthy);
    gauge(
      'zone_health',
      'How many of a hundred nodes of a zone are ready.',
      (members) => (100 * (members.length - unhealthy(members))) / members.length,
    );
    this.#nodes = informers.informerFor(nodes);
    this.#leases = informers.informerFor(leases, { namespace: NODE_LEASE_NAMESPACE });
    this.#pods = informers.informerFor(pods);
    this.#pods.addIndexers({ [BY_NODE]: byNode });
    this.#nodes.addEventHandler({
      onAdd: (node) => {
        this.#event(node, 'RegisteredNode', `Registered Node ${node.metadata.name} in Controller`);
        this.#look(node);
        this.#queue.add(node.metadata.name);
      },
      onUpdate: (_, node) => {
        this.#look(node);
        this.#queue.add(node.metadata.name);
      },
      onDelete: (node) => {
        this.#heartbeats.delete(node.metadata.name);
        this.#event(node, 'RemovingNode', `Removing Node ${node.metadata.name} from Controller`);
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, workers = 8, monitorPeriodMs = 5000 } = this.#config;
    await Promise.all([this.#nodes, this.#leases, this.#pods].map((informer) => informer.waitForSync(signal)));
    this.#updateRates();
    await Promise.all([
      wait.until({ clock, signal, periodMs: monitorPeriodMs }, () => this.#monitor(signal)),
      runWorkers(this.#queue, workers, (name, stop) => this.#reconcile(name, stop), signal, { logger }),
    ]);
    this.#recorder.stop();
  }

  /** One look at every node. */
  async #monitor(signal: AbortSignal): Promise<void> {
    const { clock } = this.#config;
    const begun = clock.monotonic();
    this.#updateRates();
    for (const node of this.#nodes.lister.list()) {
      if (signal.aborted) return;
      const looked = clock.monotonic();
      try {
        if (await this.#isNotReady(node, signal)) await this.#markPods(node, signal);
      } catch (err) {
        if (signal.aborted) return;
        this.#config.logger.warn('a node could not be checked, will retry', { node: node.metadata.name, err });
      }
      this.#lookDuration.observe((clock.monotonic() - looked) / 1000);
      // The rate of evictions, or a token of it, may have changed.
      if (this.#isTaintPending(node)) this.#queue.add(node.metadata.name);
    }
    this.#roundDuration.observe((clock.monotonic() - begun) / 1000);
  }

  #look(node: ReadNode): Heartbeat {
    const { name } = node.metadata;
    const renewal = this.#leases.lister.get(NODE_LEASE_NAMESPACE, name)?.spec.renewTime;
    const heartbeat = heartbeatAfter(this.#heartbeats.get(name), node, renewal, this.#config.clock.monotonic());
    this.#heartbeats.set(name, heartbeat);
    return heartbeat;
  }

  /** Whether it says so itself, or has not been heard of for so long that it is said of it, from now on. */
  async #isNotReady(node: ReadNode, signal: AbortSignal): Promise<boolean> {
    const { client, clock, monitorGracePeriodMs = 50_000, startupGracePeriodMs = 60_000 } = this.#config;
    const heartbeat = this.#look(node);
    const ready = readyCondition(node);
    const graceMs = ready === undefined ? startupGracePeriodMs : monitorGracePeriodMs;
    if (clock.monotonic() - heartbeat.seenAtMs <= graceMs) return ready !== undefined && ready.status !== 'True';
    const conditions = conditionsOfSilentNode(node, formatTime(clock.now()));
    if (conditions === node.status.conditions) return true;
    try {
      await client.resource(nodes).updateStatus({ ...node, status: { ...node.status, conditions } }, { signal });
    } catch (err) {
      // Somebody wrote it, maybe the node itself: look again next time.
      if (apierrors.isConflict(err) || apierrors.isNotFound(err)) return false;
      throw err;
    }
    if (ready?.status !== 'True') return true;
    const { name } = node.metadata;
    this.#config.logger.info('a node is not heard of any more', { node: name });
    this.#event(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    return true;
  }

  /** Its pods may still run, but nobody can say so: services must not send anything there. */
  async #markPods(node: ReadNode, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#config;
    const { name } = node.metadata;
    for (const pod of this.#pods.lister.byIndex(BY_NODE, name)) {
      if (!isPodReady(pod)) continue;
      const condition = { type: 'Ready', status: 'False', lastTransitionTime: formatTime(clock.now()) };
      const patch = { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } };
      try {
        await client
          .resource(pods)
          .namespace(pod.metadata.namespace ?? '')
          .patch(pod.metadata.name, 'application/strategic-merge-patch+json', patch, { subresource: 'status', signal });
      } catch (err) {
        // Gone, or another by that name.
        if (apierrors.isNotFound(err) || apierrors.isConflict(err)) continue;
        throw err;
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
        .patch(name, 'application/merge-patch+json', { metadata: { uid, resourceVersion }, spec: { taints } }, { signal });
      if (eviction === 'start') this.#evictions.with(zoneLabel(zoneOf(node))).value++;
      return reconciled;
    } catch (err) {
      if (apierrors.isNotFound(err)) return reconciled;
      if (apierrors.isConflict(err)) return requeue;
      throw err;
    }
  }

  /** Takes a token of the zone's rate where one is needed. */
  #eviction(node: ReadNode): Eviction {
    const wanted = wantedNoExecute(node);
    if (wanted === undefined || hasTaint(node.spec.taints, { key: wanted, effect: 'NoExecute' })) {
      return this.#rates === undefined ? 'cancel' : 'hold';
    }
    if (this.#rates === undefined) return 'cancel';
    return this.#bucket(zoneOf(node))?.tryTake() ? 'start' : 'hold';
  }

  /** The node should be tainted so that its pods are evicted, or that should be undone, and it is not. */
  #isTaintPending(node: ReadNode): boolean {
    const wanted = wantedNoExecute(node);
    return (
      wanted !== undefined && hasTaint(node.spec.taints, { key: wanted, effect: 'NoExecute' }) === (this.#rates === undefined)
    );
  }

  #bucket(zone: string): TokenBucket | undefined {
    const { perSecond: normal = NORMAL_PER_SECOND } = this.#config.evictionRates ?? {};
    const perSecond = this.#rates === undefined ? 0 : (this.#rates.get(zone) ?? normal);
    if (perSecond === 0) return undefined;
    const present = this.#buckets.get(zone);
    if (present?.perSecond === perSecond) return present.bucket;
    const bucket = new TokenBucket({ clock: this.#config.clock, perSecond, burst: 1 });
    this.#buckets.set(zone, { perSecond, bucket });
    return bucket;
  }

  #updateRates(): void {
    const zones = new Map<string, ReadNode[]>();
    for (const node of this.#nodes.lister.list()) {
      // One that has never reported says nothing about its zone.
      const isSilent = readyCondition(node) === undefined && readyStatus(node) === 'Unknown';
      if (isSilent || !countsForZone(node)) continue;
      const zone = zoneOf(node);
      const others = zones.get(zone);
      if (others === undefined) zones.set(zone, [node]);
      else others.push(node);
    }
    this.#zones = zones;
    const before = this.#rates;
    this.#rates = evictionRates(zones, this.#config.evictionRates);
    if ((before === undefined) !== (this.#rates === undefined)) {
      this.#config.logger.warn(
        this.#rates === undefined ? 'no node is ready: nothing is evicted' : 'nodes are ready again: evictions go on',
      );
    }
  }

  #event(node: ReadNode, reason: string, message: string): void {
    const { name, uid } = node.metadata;
    this.#recorder.event({ kind: 'Node', name, uid }, 'Normal', reason, message);
  }
}

/** As Kubernetes tells it: '' for nodes without region and zone; between the two there is a character that shows nowhere. */
function zoneLabel(zone: string): string {
  return zone === ':' ? '' : zone.replace(':', ':\0:');
}
