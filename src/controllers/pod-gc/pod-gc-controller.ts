// Deletes pods that no other component deletes: pods of missing nodes, pods that were deleted
// before they had a node, terminating pods on out-of-service nodes, and finished pods over the
// threshold.

import { type Node, nodes, type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ANYTHING } from '#machinery/clock.ts';
import { nextTurn } from '#machinery/turn.ts';
import * as wait from '#machinery/wait.ts';
import { type Counter, type Family, Instruments } from '#machinery/metrics/instruments.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { readyStatus } from '../node-lifecycle/node-taints.ts';
import { disruptionTarget } from '../disruption-target.ts';
import { isPodTerminal } from '../pod-state.ts';
import { TAINT_OUT_OF_SERVICE } from '../taints.ts';

type ReadPod = Immutable<Pod>;

/** The number of pods that are looked at in one turn of the event loop. */
const SLICE = 10_000;

export interface PodGcConfig extends ControllerConfig {
  /** The time between two passes. Default: 20 s. */
  readonly periodMs?: number;
  /** How long a node must be missing before its pods are deleted. Default: 40 s. */
  readonly quarantineMs?: number;
  /**
   * The number of finished pods that are kept; of more, the oldest are deleted. 0 or less: all are
   * kept. Default: 12500.
   */
  readonly terminatedPodThreshold?: number;
}

/** The reason, as a label of metrics. */
type Reason = 'terminated' | 'unscheduled' | 'out-of-service' | 'orphaned';

export class PodGcController implements Controller {
  readonly name = 'pod-garbage-collector-controller';
  readonly #config: PodGcConfig;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #nodes: SharedInformer<Immutable<Node>>;
  readonly #deleted: Family<Counter>;
  readonly #failed: Family<Counter>;
  /**
   * Missing nodes that pods name, with the time since when they are missing, on the monotonic
   * clock.
   */
  readonly #missing = new Map<string, number>();

  constructor(config: PodGcConfig) {
    this.#config = config;
    const instruments = config.instruments ?? new Instruments();
    const counter = (name: string, help: string): Family<Counter> =>
      instruments.counter({
        name: `pod_gc_collector_force_delete_pod${name}_total`,
        help,
        labels: ['namespace', 'reason'],
      });
    this.#deleted = counter('s', 'Pods removed.');
    this.#failed = counter('_errors', 'Pods that could not be removed.');
    this.#pods = config.informers.informerFor(pods);
    this.#nodes = config.informers.informerFor(nodes);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, periodMs = 20_000 } = this.#config;
    await Promise.all([this.#pods.waitForSync(signal), this.#nodes.waitForSync(signal)]);
    // A node that is missing is looked for again after a while, whether or not anything changes.
    const looksAt = (): string | undefined => (this.#missing.size > 0 ? undefined : ANYTHING);
    await wait.until({ clock, signal, periodMs, looksAt }, async () => {
      try {
        await this.#collect(signal);
      } catch (error) {
        if (!signal.aborted) logger.warn('pods could not be collected, will retry', { err: error });
      }
    });
  }

  async #collect(signal: AbortSignal): Promise<void> {
    const all = this.#pods.lister.list();
    const finished: ReadPod[] = [];
    const terminating: ReadPod[] = [];
    const named = new Set<string>();
    for await (const slice of inSlices(all)) {
      for (const pod of slice) {
        if (isPodTerminal(pod)) finished.push(pod);
        if (pod.metadata.deletionTimestamp !== undefined) terminating.push(pod);
        if (pod.spec.nodeName) named.add(pod.spec.nodeName);
      }
    }
    const { terminatedPodThreshold = 12_500 } = this.#config;
    for (const pod of terminatedOverLimit(finished, terminatedPodThreshold))
      await this.#remove(pod, 'terminated', signal);
    for (const pod of terminating) {
      if (!pod.spec.nodeName) await this.#remove(pod, 'unscheduled', signal);
      else if (this.#isOutOfService(pod.spec.nodeName))
        await this.#remove(pod, 'out-of-service', signal);
    }
    const gone = await this.#nodesThatAreGone(named, signal);
    if (gone.size === 0) return;
    for (const pod of all)
      if (gone.has(pod.spec.nodeName ?? '')) await this.#remove(pod, 'orphaned', signal);
  }

  #isOutOfService(name: string): boolean {
    const node = this.#nodes.lister.getByKey(name);
    if (node === undefined || readyStatus(node) === 'True') return false;
    return node.spec.taints?.some(({ key }) => key === TAINT_OUT_OF_SERVICE) ?? false;
  }

  /**
   * Returns the nodes, of those that pods name, that are missing in the cache for long enough, and
   * that the server does not have.
   */
  async #nodesThatAreGone(
    named: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const { client, clock, quarantineMs = 40_000 } = this.#config;
    const now = clock.monotonic();
    for (const name of this.#missing.keys()) {
      if (!named.has(name) || this.#nodes.lister.getByKey(name) !== undefined)
        this.#missing.delete(name);
    }
    const gone = new Set<string>();
    for (const name of named) {
      if (this.#nodes.lister.getByKey(name) !== undefined) continue;
      const since = this.#missing.get(name);
      if (since === undefined) this.#missing.set(name, now);
      else if (
        now - since >= quarantineMs &&
        !(await exists(() => client.resource(nodes).get(name, { signal })))
      )
        gone.add(name);
    }
    return gone;
  }

  /**
   * Deletes the pod. A pod that has not finished first gets the phase Failed, so that its
   * controller sees the reason.
   */
  async #remove(pod: ReadPod, reason: Reason, signal: AbortSignal): Promise<void> {
    const { client, clock, logger } = this.#config;
    const { name, namespace = '', uid, generation } = pod.metadata;
    const scoped = client.resource(pods).namespace(namespace);
    try {
      if (!isPodTerminal(pod)) {
        // Pods with other reasons are being deleted already, so they get no condition.
        const conditions =
          reason === 'orphaned'
            ? [
                disruptionTarget(
                  pod,
                  'DeletionByPodGC',
                  'PodGC: node no longer exists',
                  clock.now(),
                ),
              ]
            : [];
        const observed = generation === undefined ? {} : { observedGeneration: generation };
        const patch = { metadata: { uid }, status: { phase: 'Failed', ...observed, conditions } };
        await scoped.patch(name, 'application/strategic-merge-patch+json', patch, {
          subresource: 'status',
          signal,
        });
      }
      await scoped.delete(name, { gracePeriodSeconds: 0, preconditions: { uid }, signal });
      this.#deleted.with(namespace, reason).value++;
      logger.info('a pod was removed', { pod: `${namespace}/${name}`, reason });
    } catch (error) {
      if (signal.aborted) throw error;
      // The pod is gone, or another pod has its name.
      if (apierrors.isNotFound(error) || apierrors.isConflict(error)) return;
      this.#failed.with(namespace, reason).value++;
      logger.warn('a pod could not be removed, will retry', {
        pod: `${namespace}/${name}`,
        err: error,
      });
    }
  }
}

/** Yields all pods, so many in each turn of the event loop: 150,000 at once take 50 ms. */
async function* inSlices(all: readonly ReadPod[]): AsyncIterable<readonly ReadPod[]> {
  for (let from = 0; from < all.length; from += SLICE) {
    if (from > 0) await nextTurn();
    yield all.slice(from, from + SLICE);
  }
}

/** Returns the finished pods beyond `threshold`: first evicted ones, then the oldest. */
export function terminatedOverLimit(
  all: readonly ReadPod[],
  threshold: number,
): readonly ReadPod[] {
  if (threshold <= 0) return [];
  const finished = all.filter(isPodTerminal);
  if (finished.length <= threshold) return [];
  const created = (pod: ReadPod): number => parseTime(pod.metadata.creationTimestamp) ?? 0;
  const rank = ({ status }: ReadPod): number => (status.reason === 'Evicted' ? 0 : 1);
  return finished
    .sort((a, b) => rank(a) - rank(b) || created(a) - created(b))
    .slice(0, finished.length - threshold);
}

async function exists(get: () => Promise<unknown>): Promise<boolean> {
  try {
    await get();
    return true;
  } catch (error) {
    if (apierrors.isNotFound(error)) return false;
    throw error;
  }
}
