// Tells nodes for how long they may keep what they have read of Secrets and ConfigMaps: the more nodes there are, the longer.
// They are told by an annotation, in seconds.

import { nodes } from '#api/groups/core/v1/index.ts';
import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, requeue, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Controller, ControllerConfig } from '../controller.ts';

export const TTL_ANNOTATION = 'node.alpha.kubernetes.io/ttl';

interface Step {
  /** With fewer nodes it is the step before; steps overlap, so that one node more or less does not change all of them. */
  readonly fewest: number;
  readonly most: number;
  readonly seconds: number;
}

/** As in Kubernetes (pkg/controller/ttl). */
const STEPS: readonly Step[] = [
  { fewest: 0, most: 100, seconds: 0 },
  { fewest: 90, most: 500, seconds: 15 },
  { fewest: 450, most: 1000, seconds: 30 },
  { fewest: 900, most: 2000, seconds: 60 },
  { fewest: 1800, most: 10_000, seconds: 300 },
  { fewest: 9000, most: Number.POSITIVE_INFINITY, seconds: 600 },
];

/** The step for so many nodes, coming from another (an index of the table). */
export function nextStep(step: number, count: number): number {
  let next = step;
  while (count > (STEPS[next] as Step).most) next++;
  while (count < (STEPS[next] as Step).fewest) next--;
  return next;
}

export class TtlController implements Controller {
  readonly name = 'ttl-controller';
  readonly #config: ControllerConfig;
  readonly #nodes: SharedInformer<Immutable<Node>>;
  readonly #queue: RateLimitingQueue;
  #step = 0;

  constructor(config: ControllerConfig) {
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock: config.clock, metrics: config.queueMetrics?.('ttlcontroller') });
    this.#nodes = config.informers.informerFor(nodes);
    this.#nodes.addEventHandler({
      onAdd: (node) => {
        this.#countNodes();
        this.#consider(node);
      },
      onUpdate: (_, node) => this.#consider(node),
      onDelete: () => this.#countNodes(),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#config;
    await this.#nodes.waitForSync(signal);
    await runWorkers(this.#queue, 5, (name, stop) => this.#reconcile(name, stop), signal, { logger });
  }

  #countNodes(): void {
    const step = nextStep(this.#step, this.#nodes.lister.size);
    if (step === this.#step) return;
    this.#step = step;
    for (const node of this.#nodes.lister.list()) this.#consider(node);
  }

  #consider(node: Immutable<Node>): void {
    if (node.metadata.annotations?.[TTL_ANNOTATION] !== this.#seconds) this.#queue.add(objectKey(node));
  }

  get #seconds(): string {
    return String((STEPS[this.#step] as Step).seconds);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const node = this.#nodes.lister.getByKey(name);
    if (node === undefined || node.metadata.annotations?.[TTL_ANNOTATION] === this.#seconds) return reconciled;
    const patch = { metadata: { uid: node.metadata.uid, annotations: { [TTL_ANNOTATION]: this.#seconds } } };
    try {
      await this.#config.client.resource(nodes).patch(name, 'application/strategic-merge-patch+json', patch, { signal });
    } catch (err) {
      if (apierrors.isConflict(err)) return requeue;
      if (!apierrors.isNotFound(err)) throw err;
    }
    return reconciled;
  }
}
