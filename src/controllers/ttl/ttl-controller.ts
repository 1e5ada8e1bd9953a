// Annotates nodes with the time, in seconds, for which their kubelets may cache Secrets and
// ConfigMaps: the more nodes there are, the longer.

import { type Node, nodes } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  type RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';

export const TTL_ANNOTATION = 'node.alpha.kubernetes.io/ttl';

interface Step {
  /**
   * The step ends below this number of nodes. Steps overlap, so that one node more or less does not
   * change the annotation of all nodes.
   */
  readonly fewest: number;
  readonly most: number;
  readonly seconds: number;
}

/** The steps are upstream's (pkg/controller/ttl). */
const STEPS: readonly Step[] = [
  { fewest: 0, most: 100, seconds: 0 },
  { fewest: 90, most: 500, seconds: 15 },
  { fewest: 450, most: 1000, seconds: 30 },
  { fewest: 900, most: 2000, seconds: 60 },
  { fewest: 1800, most: 10_000, seconds: 300 },
  { fewest: 9000, most: Number.POSITIVE_INFINITY, seconds: 600 },
];

/** Returns the step (an index of the table) for this number of nodes, coming from another step. */
export function nextStep(step: number, count: number): number {
  let next = step;
  while (count > STEPS[next]!.most) next++;
  while (count < STEPS[next]!.fewest) next--;
  return next;
}

/** Returns the annotation of nodes in a cluster of so many, which has grown from nothing. */
export function ttlOf(nodeCount: number): string {
  return String(STEPS[nextStep(0, nodeCount)]!.seconds);
}

export class TtlController implements Controller {
  readonly name = 'ttl-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #nodes: SharedInformer<Immutable<Node>>;
  readonly #queue: RateLimitingQueue;
  #step = 0;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'ttlcontroller',
      workers: 5,
      reconcile: (name, signal) => this.#reconcile(name, signal),
    });
    this.#queue = builder.queue;
    this.#nodes = builder.for(nodes, {
      predicate: { ...only((node) => this.#isStale(node)), delete: false },
      onSeen: () => this.#countNodes(),
      onGone: () => this.#countNodes(),
    });
    this.run = builder.complete();
  }

  #countNodes(): void {
    const step = nextStep(this.#step, this.#nodes.lister.size);
    if (step === this.#step) return;
    this.#step = step;
    for (const node of this.#nodes.lister.list())
      if (this.#isStale(node)) this.#queue.add(objectKey(node));
  }

  /** Reports whether the node's annotation differs from the time that it should have. */
  #isStale(node: Immutable<Node>): boolean {
    return node.metadata.annotations?.[TTL_ANNOTATION] !== this.#seconds;
  }

  get #seconds(): string {
    return String(STEPS[this.#step]!.seconds);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const node = this.#nodes.lister.getByKey(name);
    if (node === undefined || node.metadata.annotations?.[TTL_ANNOTATION] === this.#seconds)
      return reconciled;
    const patch = {
      metadata: { uid: node.metadata.uid, annotations: { [TTL_ANNOTATION]: this.#seconds } },
    };
    try {
      await this.#config.client
        .resource(nodes)
        .patch(name, 'application/strategic-merge-patch+json', patch, { signal });
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (!apierrors.isNotFound(error)) throw error;
    }
    return reconciled;
  }
}
