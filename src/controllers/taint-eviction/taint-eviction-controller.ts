// Deletes pods from nodes with a NoExecute taint that they do not tolerate, or tolerate no longer.

import { type Node, nodes, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import { EvictionMetrics } from '../eviction-metrics.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { deleteDisrupted } from '../delete-disrupted.ts';
import { disruptionTarget } from '../disruption-target.ts';
import { BY_NODE, byNode } from '../pods-by-node.ts';
import { isPodTerminal } from '../pod-state.ts';
import { mayStay } from './decision.ts';

type ReadPod = Immutable<Pod>;

export interface TaintEvictionConfig extends ControllerConfig {
  /** The number of pods that are reconciled at once. Default: 8. */
  readonly workers?: number;
}

/** A pod with a limited time on its node. */
interface Countdown {
  readonly uid: string;
  /** When the countdown began, on the monotonic clock. */
  readonly since: number;
}

export class TaintEvictionController implements Controller {
  readonly name = 'taint-eviction-controller';
  readonly run: Controller['run'];
  readonly #config: TaintEvictionConfig;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #nodes: SharedInformer<Immutable<Node>>;
  readonly #recorder: EventRecorder;
  readonly #metrics: EvictionMetrics;
  /** By the pod's key: the running countdown. */
  readonly #countdowns = new Map<string, Countdown>();

  constructor(config: TaintEvictionConfig) {
    const { workers = 8 } = config;
    this.#config = config;
    this.#metrics = new EvictionMetrics(
      'taint_eviction_controller',
      "From the end of a pod's time on its node to its deletion.",
      config.instruments,
    );
    const builder = new ControllerBuilder(config, {
      queue: 'noexec_taint_pod',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder(this.name);
    this.#pods = builder.for(pods, {
      indexers: { [BY_NODE]: byNode },
      predicate: {
        update: ({ spec: before }, { spec }) =>
          before.nodeName !== spec.nodeName ||
          JSON.stringify(before.tolerations) !== JSON.stringify(spec.tolerations),
        delete: false,
      },
      onGone: (pod) => void this.#countdowns.delete(objectKey(pod)),
    });
    this.#nodes = builder.watches(
      nodes,
      ({ metadata }) => this.#pods.lister.byIndex(BY_NODE, metadata.name).map(objectKey),
      {
        predicate: {
          update: ({ spec: before }, { spec }) =>
            JSON.stringify(before.taints) !== JSON.stringify(spec.taints),
          delete: false,
        },
      },
    );
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const pod = this.#pods.lister.getByKey(key);
    const node = pod?.spec.nodeName ? this.#nodes.lister.getByKey(pod.spec.nodeName) : undefined;
    if (
      pod === undefined ||
      node === undefined ||
      pod.metadata.deletionTimestamp !== undefined ||
      isPodTerminal(pod)
    ) {
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

  /** Returns the pod's running countdown, or starts one. */
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

  /** Evicts the pod. `dueMs`: since when the eviction is due, on the monotonic clock. */
  async #evict(
    key: string,
    pod: ReadPod,
    dueMs: number,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { client, clock, logger } = this.#config;
    const why = 'Taint manager: deleting due to NoExecute taint';
    const condition = disruptionTarget(pod, 'DeletionByTaintManager', why, clock.now());
    this.#event(pod, `Marking for deletion Pod ${key}`);
    const outcome = await deleteDisrupted(client, pod, condition, signal);
    if (outcome === 'conflict') return requeue;
    if (outcome === 'deleted') this.#metrics.deleted(clock.monotonic() - dueMs);
    this.#countdowns.delete(key);
    logger.info('a pod was evicted from a tainted node', { pod: key, node: pod.spec.nodeName });
    return reconciled;
  }

  #event({ metadata }: ReadPod, message: string): void {
    this.#recorder.event(
      { apiVersion: 'v1', kind: 'Pod', metadata },
      'Normal',
      'TaintManagerEviction',
      message,
    );
  }
}
