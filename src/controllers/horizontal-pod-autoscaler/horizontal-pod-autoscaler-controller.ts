// Horizontal pod autoscalers: periodically reads the metrics of each target's pods, and scales the
// target to the number of pods that they call for.
//
// `replicas.ts` and `metric-replicas.ts` compute the number of pods for a metric, and `limits.ts`
// how many pods may be added or removed now; this file reads, scales and writes the status. Recent
// recommendations and changes are kept in memory only: after a restart the current number of pods
// is the starting point.

import {
  type HorizontalPodAutoscaler,
  horizontalPodAutoscalers,
  type HorizontalPodAutoscalerStatus,
  type MetricStatus,
} from '#api/groups/autoscaling/v2/index.ts';
import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder, EventType } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import { reconciled, type ReconcileResult, requeueAfter } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { groupOf, type Scale, ScaleClient, type ScaleResource } from '../scale-client.ts';
import { forget, limit, type Past } from './limits.ts';
import { MetricError, MetricReplicas, type ScaleTarget } from './metric-replicas.ts';
import { actionOf, AutoscalerMetrics, type Fault, type ScaleAction } from './metrics.ts';
import { MetricsClient } from './metrics-client.ts';

type Autoscaler = Immutable<HorizontalPodAutoscaler>;
type Status = Immutable<HorizontalPodAutoscalerStatus>;
type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited';

export interface HorizontalPodAutoscalerConfig extends ControllerConfig {
  /** The number of autoscalers that are reconciled at once. Default: 5. */
  readonly workers?: number;
  /** The time between two reconciles of an autoscaler. Default: 15 seconds. */
  readonly syncPeriodMs?: number;
  /** A ratio of a metric that is this close to 1 changes nothing. Default: 0.1. */
  readonly tolerance?: number;
}

const IDENTITY = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' } as const;

interface Desired {
  readonly replicas: number;
  /** The reason for the recommendation, for users; '' if there is none. */
  readonly reason: string;
  readonly rescale: boolean;
}

export class HorizontalPodAutoscalerController implements Controller {
  readonly name = 'horizontal-pod-autoscaler-controller';
  readonly run: Controller['run'];
  readonly #config: HorizontalPodAutoscalerConfig;
  readonly #autoscalers: SharedInformer<Autoscaler>;
  readonly #pods: SharedInformer<Immutable<Pod>>;
  readonly #scales: ScaleClient;
  readonly #metrics: MetricReplicas;
  readonly #work: AutoscalerMetrics;
  readonly #recorder: EventRecorder;
  /** By the autoscaler's key; dropped with the autoscaler. */
  readonly #past = new Map<string, Past>();
  /**
   * By the autoscaler's key: the problems of the last reconcile and of this one. An event is
   * recorded when a problem begins; while it lasts it is in the conditions only, so that a cluster
   * at rest does not write every 15 seconds.
   */
  readonly #troubles = new Map<
    string,
    { readonly before: ReadonlySet<string>; readonly now: Set<string> }
  >();
  /**
   * The selector of each autoscaler's pods at its last reconcile; two autoscalers must not select
   * the same pods.
   */
  readonly #selectors = new Map<string, labels.Selector>();

  constructor(config: HorizontalPodAutoscalerConfig) {
    const { client, workers = 5 } = config;
    this.#config = config;
    this.#scales = new ScaleClient(client);
    this.#work = new AutoscalerMetrics(config.instruments ?? new Instruments(), () =>
      this.#autoscalers.lister.list(),
    );
    this.#metrics = new MetricReplicas(new MetricsClient(client), this.#scales);
    const builder = new ControllerBuilder(config, {
      queue: 'horizontalpodautoscaler',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder('horizontal-pod-autoscaler');
    this.#autoscalers = builder.for(horizontalPodAutoscalers, {
      // Status updates are this controller's own.
      predicate: {
        update: (before, autoscaler) => !semanticEqual(before.spec, autoscaler.spec),
        delete: false,
      },
      onGone: (autoscaler) => {
        this.#past.delete(objectKey(autoscaler));
        this.#troubles.delete(objectKey(autoscaler));
        this.#selectors.delete(objectKey(autoscaler));
      },
    });
    this.#pods = builder.informerFor(pods);
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const autoscaler = this.#autoscalers.lister.getByKey(key);
    if (autoscaler === undefined) return reconciled;
    const report = new Report(autoscaler, this.#config.clock.now());
    this.#troubles.set(key, { before: this.#troubles.get(key)?.now ?? new Set(), now: new Set() });
    const { clock } = this.#config;
    const begun = clock.monotonic();
    let action: ScaleAction = 'none';
    let fault: Fault = 'none';
    try {
      action = await this.#autoscale(key, autoscaler, report, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      fault = faultOf(error);
      this.#config.logger.warn('autoscaling failed', { key, err: error });
    }
    try {
      await this.#write(autoscaler, report.status, signal);
    } catch (error) {
      // Another writer was first, or the object is gone: the next reconcile decides.
      if (!apierrors.isConflict(error) && !apierrors.isNotFound(error)) {
        if (!signal.aborted)
          this.#tell(autoscaler, 'Warning', 'FailedUpdateStatus', errorMessage(error));
        throw error;
      }
    }
    this.#work.looked(action, fault, (clock.monotonic() - begun) / 1000);
    return requeueAfter(this.#config.syncPeriodMs ?? 15_000);
  }

  async #autoscale(
    key: string,
    autoscaler: Autoscaler,
    report: Report,
    signal: AbortSignal,
  ): Promise<ScaleAction> {
    const { scaleTargetRef } = autoscaler.spec;
    const { namespace = '' } = autoscaler.metadata;
    let resource: ScaleResource;
    let scale: Scale;
    try {
      const kind = { group: groupOf(scaleTargetRef.apiVersion ?? ''), kind: scaleTargetRef.kind };
      resource = await this.#scales.resourceOf(kind, signal);
      scale = await this.#scales.get(resource, namespace, scaleTargetRef.name, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const why = errorMessage(error);
      this.#tell(autoscaler, 'Warning', 'FailedGetScale', why);
      const message = `the HPA controller was unable to get the target's current scale: ${why}`;
      report.condition('AbleToScale', 'False', 'FailedGetScale', message);
      throw error;
    }
    const able = "the HPA controller was able to get the target's current scale";
    report.condition('AbleToScale', 'True', 'SucceededGetScale', able);
    const current = scale.spec.replicas ?? 0;
    this.#begin(key, current);
    const desired = await this.#desired(key, autoscaler, scale, report, signal);
    if (desired.rescale)
      await this.#rescale(key, autoscaler, { resource, scale, desired }, report, signal);
    report.replicas(current, desired.rescale ? desired.replicas : current);
    return desired.rescale ? actionOf(current, desired.replicas) : 'none';
  }

  async #desired(
    key: string,
    autoscaler: Autoscaler,
    scale: Scale,
    report: Report,
    signal: AbortSignal,
  ): Promise<Desired> {
    const { minReplicas: min = 1, maxReplicas: max, behavior } = autoscaler.spec;
    const current = scale.spec.replicas ?? 0;
    if (current === 0 && min !== 0) {
      const why = 'scaling is disabled since the replica count of the target is zero';
      report.condition('ScalingActive', 'False', 'ScalingDisabled', why);
      return { replicas: 0, reason: '', rescale: false };
    }
    if (current > max)
      return {
        replicas: max,
        reason: 'Current number of replicas above Spec.MaxReplicas',
        rescale: true,
      };
    if (current < min)
      return {
        replicas: min,
        reason: 'Current number of replicas below Spec.MinReplicas',
        rescale: true,
      };
    const wanted = await this.#wanted(key, autoscaler, scale, report, signal);
    const now = this.#config.clock.now();
    const past = this.#past.get(key)!;
    const limited = limit({ current, desired: wanted.replicas, min, max, behavior }, past, now);
    for (const { type, status, reason, message } of limited.news)
      report.condition(type, status, reason, message);
    const recommendations = [...past.recommendations, { at: now, replicas: wanted.replicas }];
    this.#past.set(key, forget({ ...past, recommendations }, behavior, now));
    let reason = '';
    if (wanted.replicas > current) reason = `${wanted.name} above target`;
    if (wanted.replicas < current) reason = 'All metrics below target';
    return { replicas: limited.replicas, reason, rescale: limited.replicas !== current };
  }

  /**
   * Returns the highest number of pods over all metrics. If some metrics are missing, the target is
   * not scaled down. Throws Error if all are missing.
   */
  async #wanted(
    key: string,
    autoscaler: Autoscaler,
    scale: Scale,
    report: Report,
    signal: AbortSignal,
  ): Promise<{ readonly replicas: number; readonly name: string }> {
    const current = scale.spec.replicas ?? 0;
    try {
      const target = this.#targetOf(key, autoscaler, scale, report);
      const { metrics = [] } = autoscaler.spec;
      const statuses: Immutable<MetricStatus>[] = [];
      const failures: MetricError[] = [];
      let most: { readonly replicas: number; readonly name: string } | undefined;
      for (const metric of metrics) {
        const begun = this.#config.clock.monotonic();
        const computed = (action: ScaleAction, fault: Fault): void =>
          this.#work.computed(
            action,
            fault,
            metric.type,
            (this.#config.clock.monotonic() - begun) / 1000,
          );
        try {
          const proposal = await this.#metrics.of(metric, target, signal);
          computed(actionOf(current, proposal.replicas), 'none');
          statuses.push(proposal.status);
          if (most === undefined || proposal.replicas > most.replicas) most = proposal;
        } catch (error) {
          if (signal.aborted || !(error instanceof MetricError)) throw error;
          computed('none', faultOf(error));
          this.#tell(autoscaler, 'Warning', error.reason, error.message);
          // A metric without a value has an empty status.
          statuses.push({ type: '' });
          failures.push(error);
        }
      }
      report.metrics(statuses);
      const [first] = failures;
      if (first !== undefined && (most === undefined || most.replicas < current)) {
        const message = `the HPA was unable to compute the replica count: ${first.message}`;
        report.condition('ScalingActive', 'False', first.reason, message);
        throw new Error(
          `invalid metrics (${failures.length} invalid out of ${metrics.length}), first error is: ${first.full}`,
        );
      }
      const { replicas = 0, name = '' } = most ?? {};
      const message = `the HPA was able to successfully calculate a replica count from ${name}`;
      report.condition('ScalingActive', 'True', 'ValidMetricFound', message);
      return { replicas, name };
    } catch (error) {
      if (signal.aborted) throw error;
      report.current(current);
      this.#tell(autoscaler, 'Warning', 'FailedComputeMetricsReplicas', errorMessage(error));
      throw error;
    }
  }

  /** Returns the pods to scale. Throws Error if the selector is invalid or ambiguous. */
  #targetOf(key: string, autoscaler: Autoscaler, scale: Scale, report: Report): ScaleTarget {
    const { namespace = '' } = autoscaler.metadata;
    const { behavior } = autoscaler.spec;
    const text = scale.status.selector ?? '';
    if (text === '') {
      this.#tell(autoscaler, 'Warning', 'SelectorRequired', 'selector is required');
      report.condition(
        'ScalingActive',
        'False',
        'InvalidSelector',
        "the HPA target's scale is missing a selector",
      );
      throw new Error('selector is required');
    }
    let selector: labels.Selector;
    try {
      selector = labels.parse(text);
    } catch (error) {
      const message = `couldn't convert selector into a corresponding internal selector object: ${errorMessage(error)}`;
      this.#tell(autoscaler, 'Warning', 'InvalidSelector', message);
      report.condition('ScalingActive', 'False', 'InvalidSelector', message);
      throw new Error(message, { cause: error });
    }
    const selected = this.#pods.lister
      .list(namespace)
      .filter(({ metadata }) => selector.matches(metadata.labels));
    this.#selectors.set(key, selector);
    const others = [...this.#selectors].filter(
      ([other, theirs]) =>
        other.startsWith(`${namespace}/`) &&
        selected.some(({ metadata }) => theirs.matches(metadata.labels)),
    );
    if (others.length > 1) {
      const names = others.map(([other]) => other).toSorted();
      const message = `pods by selector ${text} are controlled by multiple HPAs: [${names.join(' ')}]`;
      this.#tell(autoscaler, 'Warning', 'AmbiguousSelector', message);
      report.condition('ScalingActive', 'False', 'AmbiguousSelector', message);
      throw new Error(message);
    }
    const { tolerance = 0.1, clock } = this.#config;
    const toleranceOf = (own: string | undefined): number =>
      own === undefined ? tolerance : parseQuantity(own).toNumber();
    return {
      namespace,
      selector: text,
      pods: selected,
      specReplicas: scale.spec.replicas ?? 0,
      statusReplicas: scale.status.replicas,
      tolerances: {
        up: toleranceOf(behavior?.scaleUp?.tolerance),
        down: toleranceOf(behavior?.scaleDown?.tolerance),
      },
      now: clock.now(),
    };
  }

  async #rescale(
    key: string,
    autoscaler: Autoscaler,
    change: { readonly resource: ScaleResource; readonly scale: Scale; readonly desired: Desired },
    report: Report,
    signal: AbortSignal,
  ): Promise<void> {
    const { resource, scale, desired } = change;
    const { replicas, reason } = desired;
    const current = scale.spec.replicas ?? 0;
    try {
      await this.#scales.update(resource, { ...scale, spec: { ...scale.spec, replicas } }, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const why = errorMessage(error);
      this.#tell(
        autoscaler,
        'Warning',
        'FailedRescale',
        `New size: ${replicas}; reason: ${reason}; error: ${why}`,
      );
      const message = `the HPA controller was unable to update the target scale: ${why}`;
      report.condition('AbleToScale', 'False', 'FailedUpdateScale', message);
      report.current(current);
      throw error;
    }
    const done = `the HPA controller was able to update the target scale to ${replicas}`;
    report.condition('AbleToScale', 'True', 'SucceededRescale', done);
    this.#tell(
      autoscaler,
      'Normal',
      'SuccessfulRescale',
      `New size: ${replicas}; reason: ${reason}`,
    );
    report.rescaled();
    const past = this.#past.get(key)!;
    const by = { at: this.#config.clock.now(), replicas: Math.abs(replicas - current) };
    const next =
      replicas > current
        ? { ...past, ups: [...past.ups, by] }
        : { ...past, downs: [...past.downs, by] };
    this.#past.set(key, next);
  }

  /**
   * Records the number of pods at the first reconcile as a recommendation, so that a restart scales
   * nothing down.
   */
  #begin(key: string, current: number): void {
    if (this.#past.has(key)) return;
    const recommendations = [{ at: this.#config.clock.now(), replicas: current }];
    this.#past.set(key, { recommendations, ups: [], downs: [] });
  }

  async #write(autoscaler: Autoscaler, status: Status, signal: AbortSignal): Promise<void> {
    if (semanticEqual(status, autoscaler.status)) return;
    const { namespace = '' } = autoscaler.metadata;
    const client = this.#config.client.resource(horizontalPodAutoscalers).namespace(namespace);
    await client.updateStatus({ ...autoscaler, status }, { signal });
  }

  #tell(autoscaler: Autoscaler, type: EventType, reason: string, message: string): void {
    const { metadata } = autoscaler;
    if (type === 'Warning') {
      const troubles = this.#troubles.get(objectKey(autoscaler));
      const trouble = `${metadata.uid} ${reason} ${message}`;
      troubles?.now.add(trouble);
      if (troubles?.before.has(trouble)) return;
    }
    this.#recorder.event({ ...IDENTITY, metadata }, type, reason, message);
  }
}

/** Collects the status of one reconcile. */
class Report {
  #status: Status;
  readonly #now: string;

  constructor({ status }: Autoscaler, now: number) {
    this.#status = status;
    this.#now = formatTime(now);
  }

  get status(): Status {
    return this.#status;
  }

  condition(type: ConditionType, status: 'True' | 'False', reason: string, message: string): void {
    const { conditions = [] } = this.#status;
    const index = conditions.findIndex((each) => each.type === type);
    const old = conditions[index];
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : this.#now;
    const condition = { type, status, lastTransitionTime, reason, message };
    this.#status = {
      ...this.#status,
      conditions:
        old === undefined ? [...conditions, condition] : conditions.with(index, condition),
    };
  }

  metrics(statuses: readonly Immutable<MetricStatus>[]): void {
    this.#status = { ...this.#status, currentMetrics: statuses.length === 0 ? null : statuses };
  }

  current(replicas: number): void {
    const { currentReplicas: _old, ...status } = this.#status;
    this.#status = { ...status, ...(replicas !== 0 && { currentReplicas: replicas }) };
  }

  replicas(current: number, desired: number): void {
    this.current(current);
    this.#status = { ...this.#status, desiredReplicas: desired };
  }

  rescaled(): void {
    this.#status = { ...this.#status, lastScaleTime: this.#now };
  }
}

/** Returns the fault of an error: 'spec' only for a metric source of an unknown type. */
function faultOf(err: unknown): Fault {
  return err instanceof MetricError && err.reason === 'InvalidMetricSourceType'
    ? 'spec'
    : 'internal';
}
