// Disruption budgets: counts the pods of each budget and writes how many evictions are allowed now.
// The API server allows evictions and decrements that number; this controller corrects it once it
// has seen the pods' deletions.

import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { withSyncFailed } from '#api/groups/policy/v1/conditions.ts';
import {
  type PodDisruptionBudget,
  podDisruptionBudgets,
  type PodDisruptionBudgetStatus,
} from '#api/groups/policy/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import {
  type RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { ControllerBuilder } from '../builder.ts';
import { selectorOf } from '../claim.ts';
import { noDisruptionTarget } from '../disruption-target.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { ScaleClient } from '../scale-client.ts';
import {
  countHealthy,
  countsControllers,
  describeSelector,
  desiredHealthy,
  disruptedPods,
  statusOf,
  untilStale,
} from './budget.ts';
import { ExpectedPods } from './expected-pods.ts';

type ReadPod = Immutable<Pod>;
type ReadBudget = Immutable<PodDisruptionBudget>;
type ReadStatus = Immutable<PodDisruptionBudgetStatus>;

const IDENTITY = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' } as const;

export class DisruptionController implements Controller {
  readonly name = 'disruption-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #budgets: SharedInformer<ReadBudget>;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #expected: ExpectedPods;
  readonly #queue: RateLimitingQueue;
  /** Keys of pods with a condition that may become stale. */
  readonly #stale: RateLimitingQueue;
  readonly #recorder: EventRecorder;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'disruption',
      workers: 1,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#queue = builder.queue;
    this.#stale = builder.addQueue({
      queue: 'stale_pod_disruption',
      workers: 1,
      reconcile: (key, signal) => this.#clearStale(key, signal),
    });
    this.#recorder = builder.recorder('controllermanager');
    this.#budgets = builder.for(podDisruptionBudgets, { predicate: { delete: false } });
    this.#expected = new ExpectedPods(builder, new ScaleClient(config.client));
    this.#pods = builder.informerFor(pods);
    // A handler of its own: the budgets of a pod are looked up once for both the queue and the
    // event.
    this.#pods.addEventHandler({
      onAdd: (pod) => this.#podChanged(pod),
      onUpdate: (before, pod) => {
        if (before.metadata.labels !== pod.metadata.labels) this.#enqueueBudgetsOf(before);
        this.#podChanged(pod);
      },
      onDelete: (pod) => this.#enqueueBudgetsOf(pod),
    });
    this.run = builder.complete();
  }

  #podChanged(pod: ReadPod): void {
    const matching = this.#enqueueBudgetsOf(pod);
    const [first] = matching;
    if (first !== undefined && matching.length > 1) {
      const { namespace = '', name } = pod.metadata;
      const which = `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.`;
      const message = `${which}  Chose "${first.metadata.name}" arbitrarily.`;
      this.#recorder.event(
        { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata },
        'Warning',
        'MultiplePodDisruptionBudgets',
        message,
      );
    }
    const delay = untilStale(pod, this.#config.clock.now());
    if (delay !== undefined) this.#stale.addAfter(objectKey(pod), Math.max(0, delay));
  }

  #enqueueBudgetsOf({ metadata }: ReadPod): readonly ReadBudget[] {
    const matching = this.#budgets.lister
      .list(metadata.namespace ?? '')
      .filter((budget) => selectorOf(budget).matches(metadata.labels));
    for (const budget of matching) this.#queue.add(objectKey(budget));
    return matching;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const budget = this.#budgets.lister.getByKey(key);
    if (budget === undefined) return reconciled;
    try {
      return await this.#sync(budget, signal);
    } catch (error) {
      // A conflict comes from a stale cache, not from the budget: the next event or the back-off
      // retries it.
      if (apierrors.isConflict(error) || signal.aborted) throw error;
      if (apierrors.isNotFound(error)) return reconciled;
      this.#config.logger.warn('counting a disruption budget failed', { key, err: error });
      return await this.#failSafe(budget, error, signal);
    }
  }

  async #sync(budget: ReadBudget, signal: AbortSignal): Promise<ReconcileResult> {
    const { clock } = this.#config;
    const selector = selectorOf(budget);
    const selected = this.#pods.lister
      .list(budget.metadata.namespace ?? '')
      .filter(({ metadata }) => selector.matches(metadata.labels));
    if (selected.length === 0) this.#event(budget, 'Normal', 'NoPods', 'No matching pods found');
    const expected = await this.#expectedOf(budget, selected, signal);
    const now = clock.now();
    const disrupted = disruptedPods(selected, budget.status, now);
    for (const { metadata } of disrupted.survivors) {
      const { namespace = '' } = budget.metadata;
      // The message has the namespace twice, as upstream's does.
      const message = `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`;
      this.#recorder.event(
        { apiVersion: 'v1', kind: 'Pod', metadata },
        'Warning',
        'NotDeleted',
        message,
      );
    }
    const counted = {
      expected,
      desired: desiredHealthy(budget, expected),
      healthy: countHealthy(selected, disrupted.pods),
      disrupted: disrupted.pods,
    };
    await this.#write(budget, statusOf(budget, counted, now), signal);
    // One millisecond later the pod has reached its timeout.
    return disrupted.recheckAt === undefined
      ? reconciled
      : requeueAfter(disrupted.recheckAt - now + 1);
  }

  async #expectedOf(
    budget: ReadBudget,
    selected: readonly ReadPod[],
    signal: AbortSignal,
  ): Promise<number> {
    if (!countsControllers(budget))
      return budget.spec.minAvailable === undefined ? 0 : selected.length;
    let expected;
    try {
      expected = await this.#expected.of(selected, signal);
    } catch (error) {
      const why = `Failed to calculate the number of expected pods: ${errorMessage(error)}`;
      if (!signal.aborted) this.#event(budget, 'Warning', 'CalculateExpectedPodCountFailed', why);
      throw error;
    }
    if (expected.unmanaged.length > 0) {
      const which =
        'Pods selected by this PodDisruptionBudget (selector: ' +
        `${describeSelector(budget.spec.selector)}) were found to be unmanaged.`;
      this.#event(
        budget,
        'Warning',
        'UnmanagedPods',
        `${which} As a result, the status of the PDB cannot be calculated correctly, which ` +
          'may result in undefined behavior. ' +
          'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.',
      );
    }
    return expected.count;
  }

  /** Writes zero allowed evictions while the pods cannot be counted. */
  async #failSafe(budget: ReadBudget, why: unknown, signal: AbortSignal): Promise<ReconcileResult> {
    await this.#write(
      budget,
      withSyncFailed(budget.status, errorMessage(why), formatTime(this.#config.clock.now())),
      signal,
    );
    return reconciled;
  }

  async #write(budget: ReadBudget, status: ReadStatus, signal: AbortSignal): Promise<void> {
    if (semanticEqual(status, budget.status)) return;
    const { namespace = '' } = budget.metadata;
    await this.#config.client
      .resource(podDisruptionBudgets)
      .namespace(namespace)
      .updateStatus({ ...budget, status }, { signal });
  }

  /** Sets the condition DisruptionTarget of a pod that was not disrupted after all to False. */
  async #clearStale(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { client, clock } = this.#config;
    const pod = this.#pods.lister.getByKey(key);
    const delay = pod === undefined ? undefined : untilStale(pod, clock.now());
    if (pod === undefined || delay === undefined) return reconciled;
    if (delay > 0) return requeueAfter(delay);
    const conditions = pod.status.conditions?.map((condition) =>
      condition.type === 'DisruptionTarget' ? noDisruptionTarget(pod, clock.now()) : condition,
    );
    try {
      await client
        .resource(pods)
        .namespace(pod.metadata.namespace ?? '')
        .updateStatus({ ...pod, status: { ...pod.status, conditions } }, { signal });
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
    return reconciled;
  }

  #event(
    { metadata }: ReadBudget,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void {
    this.#recorder.event({ ...IDENTITY, metadata }, type, reason, message);
  }
}
