// Deletes pods from nodes with a NoExecute taint that they do not tolerate, or not any longer.

import { nodes, pods } from '#api/groups/core/v1/index.ts';
import type { Node, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { EventRecorder } from '#client/events/index.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, requeue, requeueAfter, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import type { Counter, Histogram } from '#machinery/metrics/instruments.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { disruptionTarget } from '../disruption-target.ts';
import { BY_NODE, byNode } from '../pods-by-node.ts';
import { isPodTerminal } from '../pod-state.ts';
import { mayStay } from './decision.ts';

type ReadPod = Immutable<Pod>;

export interface TaintEvictionConfig extends ControllerConfig {
  /** Pods that are looked at at once. Default: 8. */
  readonly workers?: number;
}

/** A pod's time on its node is running out. */
interface Countdown {
  readonly uid: string;
  /** When it began, on the monotonic clock. */
  readonly since: number;
}

const LATENCY_BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240];

export class TaintEvictionController implements Controller {
  readonly name = 'taint-eviction-controller';
  readonly #config: TaintEvictionConfig;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #nodes: SharedInformer<Immutable<Node>>;
  readonly #queue: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #deletions: Counter;
  /** From when its time was over to when it was deleted. */
  readonly #latency: Histogram;
  /** By the pod's key. */
  readonly #countdowns = new Map<string, Countdown>();

  constructor(config: TaintEvictionConfig) {
    const { client, clock, random, logger, informers } = config;
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock, metrics: config.queueMetrics?.('noexec_taint_pod') });
    this.#recorder = new EventRecorder({ client, clock, random, logger, component: this.name });
    const instruments = config.instruments ?? new Instruments();
    const names = 'taint_eviction_controller_pod_deletion';
    this.#deletions = instruments.counter({ name: `${names}s_total`, help: 'Pods deleted.' }).with();
    const duration = { name: `${names}_duration_seconds`, help: "From the end of a pod's time on its node to its deletion." };
    this.#latency = instruments.histogram(duration, LATENCY_BUCKETS_SECONDS).with();
    this.#pods = informers.informerFor(pods);
    this.#nodes = informers.informerFor(nodes);
    this.#pods.addIndexers({ [BY_NODE]: byNode });
    this.#pods.addEventHandler({
      onAdd: (pod) => this.#queue.add(objectKey(pod)),
      onUpdate: (before, pod) => {
        const moved = before.metadata.uid !== pod.metadata.uid || before.spec.nodeName !== pod.spec.nodeName;
        const tolerates = JSON.stringify(before.spec.tolerations) !== JSON.stringify(pod.spec.tolerations);
        if (moved || tolerates) this.#queue.add(objectKey(pod));
      },
      onDelete: (pod) => void this.#countdowns.delete(objectKey(pod)),
    });
    this.#nodes.addEventHandler({
      onAdd: (node) => this.#wakePods(node),
      onUpdate: (before, node) => {
        if (JSON.stringify(before.spec.taints) !== JSON.stringify(node.spec.taints)) this.#wakePods(node);
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { workers = 8, logger } = this.#config;
    await Promise.all([this.#pods.waitForSync(signal), this.#nodes.waitForSync(signal)]);
    await runWorkers(this.#queue, workers, (key, stop) => this.#reconcile(key, stop), signal, { logger });
    this.#recorder.stop();
  }

  #wakePods(node: Immutable<Node>): void {
    for (const pod of this.#pods.lister.byIndex(BY_NODE, node.metadata.name)) this.#queue.add(objectKey(pod));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const pod = this.#pods.lister.getByKey(key);
    const node = pod?.spec.nodeName ? this.#nodes.lister.getByKey(pod.spec.nodeName) : undefined;
    if (pod === undefined || node === undefined || pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) {
      this.#countdowns.delete(key);
      return reconciled;
    }
    const stay = mayStay(node.spec.taints ?? [], pod.spec.tolerations ?? []);
    switch (stay.kind) {
      case 'forever':
        this.#cancel(key, pod);
        return reconciled;
      case 'evict':
        return this.#evict(key, pod, this.#config.clock.monotonic(), signal);
      case 'limited': {
        const dueMs = this.#countdown(key, pod).since + stay.seconds * 1000;
        const leftMs = dueMs - this.#config.clock.monotonic();
        if (leftMs > 0) return requeueAfter(leftMs);
        return this.#evict(key, pod, dueMs, signal);
      }
    }
  }

  /** The one that runs, or a new one that begins now. */
  #countdown(key: string, pod: ReadPod): Countdown {
    const running = this.#countdowns.get(key);
    if (running?.uid === pod.metadata.uid) return running;
    const begun = { uid: pod.metadata.uid, since: this.#config.clock.monotonic() };
    this.#countdowns.set(key, begun);
    return begun;
  }

  #cancel(key: string, pod: ReadPod): void {
    if (this.#countdowns.delete(key)) this.#event(pod, `Cancelling deletion of Pod ${key}`);
  }

  /** `dueMs`: since when, on the monotonic clock. */
  async #evict(key: string, pod: ReadPod, dueMs: number, signal: AbortSignal): Promise<ReconcileResult> {
    const { client, clock, logger } = this.#config;
    const { name, namespace = '', uid } = pod.metadata;
    const scoped = client.resource(pods).namespace(namespace);
    const why = 'Taint manager: deleting due to NoExecute taint';
    const condition = disruptionTarget(pod, 'DeletionByTaintManager', why, clock.now());
    this.#event(pod, `Marking for deletion Pod ${key}`);
    try {
      const patch = { metadata: { uid }, status: { conditions: [condition] } };
      await scoped.patch(name, 'application/strategic-merge-patch+json', patch, { subresource: 'status', signal });
      await scoped.delete(name, { preconditions: { uid }, signal });
      this.#deletions.value++;
      this.#latency.observe((clock.monotonic() - dueMs) / 1000);
    } catch (err) {
      // Another by that name, or somebody has changed it: look again.
      if (apierrors.isConflict(err)) return requeue;
      if (!apierrors.isNotFound(err)) throw err;
    }
    this.#countdowns.delete(key);
    logger.info('a pod was evicted from a tainted node', { pod: key, node: pod.spec.nodeName });
    return reconciled;
  }

  #event({ metadata }: ReadPod, message: string): void {
    this.#recorder.event({ apiVersion: 'v1', kind: 'Pod', metadata }, 'Normal', 'TaintManagerEviction', message);
  }
}
