// Evaluates one metric of an autoscaler: reads it, and computes the number of pods and the metric's
// status.

import type { MetricSpec, MetricStatus } from '#api/groups/autoscaling/v2/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { newMilliQuantity, parseQuantity } from '#machinery/text/quantity.ts';
import { groupOf, type ScaleClient } from '../scale-client.ts';
import { describe, type MetricsClient } from './metrics-client.ts';
import {
  averageOf,
  type Calculation,
  isWithin,
  type PodMetrics,
  readyPodCount,
  replicasFor,
  requestsOf,
  type Tolerances,
  type Usage,
  utilizationOf,
} from './replicas.ts';

type Spec = Immutable<MetricSpec>;
type Status = Immutable<MetricStatus>;
type Target = Immutable<NonNullable<MetricSpec['resource']>['target']>;

export interface ScaleTarget {
  readonly namespace: string;
  readonly pods: readonly Immutable<Pod>[];
  /** The label selector of the pods, as a string. */
  readonly selector: string;
  /** The desired and the observed number of pods. */
  readonly specReplicas: number;
  readonly statusReplicas: number;
  readonly tolerances: Tolerances;
  readonly now: number;
}

export interface Proposal {
  readonly replicas: number;
  /** A description of the metric, for messages. */
  readonly name: string;
  readonly status: Status;
}

/** A metric that cannot be read. */
export class MetricError extends Error {
  /** The reason of the event and the condition. */
  readonly reason: string;
  /** The message with the metric that it is about. */
  readonly full: string;

  constructor(reason: string, message: string, full = message) {
    super(message);
    this.reason = reason;
    this.full = full;
  }
}

export class MetricReplicas {
  readonly #metrics: MetricsClient;
  readonly #scales: ScaleClient;

  constructor(metrics: MetricsClient, scales: ScaleClient) {
    this.#metrics = metrics;
    this.#scales = scales;
  }

  /** Returns the proposal of the metric. Throws MetricError. */
  async of(spec: Spec, target: ScaleTarget, signal: AbortSignal): Promise<Proposal> {
    switch (spec.type) {
      case 'Resource': {
        const what = `failed to get ${spec.resource?.name ?? ''} resource metric value`;
        return reasoned('FailedGetResourceMetric', what, () =>
          this.#resource(spec, target, signal),
        );
      }
      case 'ContainerResource': {
        const what = `failed to get ${spec.containerResource?.name ?? ''} container metric value`;
        return reasoned('FailedGetContainerResourceMetric', what, () =>
          this.#containerResource(spec, target, signal),
        );
      }
      case 'Pods':
        return reasoned('FailedGetPodsMetric', 'failed to get pods metric value', () =>
          this.#pods(spec, target, signal),
        );
      case 'Object':
        return reasoned('FailedGetObjectMetric', 'failed to get object metric value', () =>
          this.#object(spec, target, signal),
        );
      case 'External': {
        const what = `failed to get ${spec.external?.metric.name ?? ''} external metric value`;
        return reasoned('FailedGetExternalMetric', what, () =>
          this.#external(spec, target, signal),
        );
      }
      default:
        throw new MetricError(
          'InvalidMetricSourceType',
          `unknown metric source type "${spec.type}"`,
        );
    }
  }

  async #resource({ resource }: Spec, target: ScaleTarget, signal: AbortSignal): Promise<Proposal> {
    if (resource === undefined) throw new Error('invalid resource metric source');
    const { replicas, current, kind } = await this.#used(
      resource.name,
      resource.target,
      undefined,
      target,
      signal,
    );
    const status: Status = { type: 'Resource', resource: { name: resource.name, current } };
    return { replicas, status, name: `${resource.name} resource${kind}` };
  }

  async #containerResource(
    { containerResource: source }: Spec,
    target: ScaleTarget,
    signal: AbortSignal,
  ): Promise<Proposal> {
    if (source === undefined) throw new Error('invalid container resource metric source');
    const { name, container } = source;
    const { replicas, current, kind } = await this.#used(
      name,
      source.target,
      container,
      target,
      signal,
    );
    const status: Status = {
      type: 'ContainerResource',
      containerResource: { name, container, current },
    };
    return { replicas, status, name: `${name} container resource${kind}` };
  }

  async #used(
    name: string,
    wanted: Target,
    container: string | undefined,
    target: ScaleTarget,
    signal: AbortSignal,
  ) {
    const { averageValue, averageUtilization } = wanted;
    const measure = averageValue === undefined ? 'utilization' : 'usage';
    try {
      const metrics = await this.#metrics.resource(
        name,
        target.namespace,
        target.selector,
        container,
        signal,
      );
      if (averageValue !== undefined) {
        const found = averageReplicas(metrics, averageValue, target, name === 'cpu');
        return {
          replicas: found.replicas,
          kind: '',
          current: { averageValue: milli(found.average) },
        };
      }
      if (averageUtilization === undefined)
        throw new Error(
          'invalid resource metric source: neither an average utilization target nor an ' +
            'average value (usage) target was set',
        );
      const requests = requestsOf(target.pods, name, container);
      const found = calculate(target, metrics, name === 'cpu', {
        usage: (counted) => utilizationOf(counted, requests, averageUtilization),
        assumed: (pod) => ((requests.get(pod) ?? 0) * Math.max(100, averageUtilization)) / 100,
      });
      const current = {
        averageUtilization: found.utilization ?? 0,
        averageValue: milli(found.average),
      };
      return { replicas: found.replicas, kind: ' utilization (percentage of request)', current };
    } catch (error) {
      if (signal.aborted) throw error;
      throw new Error(`failed to get ${name} ${measure}: ${errorMessage(error)}`, { cause: error });
    }
  }

  async #pods({ pods }: Spec, target: ScaleTarget, signal: AbortSignal): Promise<Proposal> {
    if (pods?.target.averageValue === undefined) throw new Error('invalid pods metric source');
    const { metric } = pods;
    const metrics = await this.#metrics.pods(metric, target.namespace, target.selector, signal);
    const found = averageReplicas(metrics, pods.target.averageValue, target, false);
    const status: Status = {
      type: 'Pods',
      pods: { metric, current: { averageValue: milli(found.average) } },
    };
    return { replicas: found.replicas, status, name: `pods metric ${metric.name}` };
  }

  async #object({ object }: Spec, target: ScaleTarget, signal: AbortSignal): Promise<Proposal> {
    if (object === undefined) throw new Error('invalid object metric source');
    const { metric, describedObject, target: wanted } = object;
    const { kind, name, apiVersion = '' } = describedObject;
    const { group, resource } = await this.#scales.resourceOf(
      { group: groupOf(apiVersion), kind },
      signal,
    );
    const what = group === '' ? resource : `${resource}.${group}`;
    const used = await this.#metrics.object(
      metric,
      target.namespace,
      { resource: what, name },
      signal,
    );
    const { replicas, current } = totalReplicas(used, wanted, target);
    const status: Status = { type: 'Object', object: { metric, current, describedObject } };
    return { replicas, status, name: `${kind} metric ${metric.name}` };
  }

  async #external({ external }: Spec, target: ScaleTarget, signal: AbortSignal): Promise<Proposal> {
    if (external === undefined) throw new Error('invalid external metric source');
    const { metric, target: wanted } = external;
    const used = await this.#metrics.external(metric, target.namespace, signal);
    const { replicas, current } = totalReplicas(used, wanted, target);
    const status: Status = { type: 'External', external: { metric, current } };
    return {
      replicas,
      status,
      name: `external metric ${metric.name}(${describe(metric.selector)})`,
    };
  }
}

function calculate(
  { pods, specReplicas, tolerances, now }: ScaleTarget,
  metrics: PodMetrics,
  isCpu: boolean,
  how: Pick<Calculation, 'usage' | 'assumed'>,
): Usage & { readonly replicas: number } {
  return replicasFor({ pods, metrics, isCpu, current: specReplicas, tolerances, now, ...how });
}

function averageReplicas(
  metrics: PodMetrics,
  averageValue: string,
  target: ScaleTarget,
  isCpu: boolean,
) {
  const wanted = parseQuantity(averageValue).milliValue();
  return calculate(target, metrics, isCpu, {
    usage: (counted) => averageOf(counted, wanted),
    assumed: () => wanted,
  });
}

/**
 * Computes the number of pods for a metric that all pods share. A value per pod is compared with
 * the number of pods.
 */
function totalReplicas(used: number, { value, averageValue }: Target, target: ScaleTarget) {
  const { pods, specReplicas, statusReplicas, tolerances } = target;
  if (averageValue !== undefined) {
    const wanted = parseQuantity(averageValue).milliValue();
    const ratio = used / (wanted * statusReplicas);
    const replicas = isWithin(tolerances, ratio) ? statusReplicas : Math.ceil(used / wanted);
    const average = statusReplicas === 0 ? used : Math.ceil(used / statusReplicas);
    return { replicas, current: { averageValue: milli(average) } };
  }
  const ratio = used / parseQuantity(value ?? '0').milliValue();
  const current = { value: milli(used) };
  // From zero pods, the ratio itself is the number of pods.
  if (specReplicas === 0) return { replicas: Math.ceil(ratio), current };
  if (isWithin(tolerances, ratio)) return { replicas: specReplicas, current };
  return { replicas: Math.ceil(ratio * readyPodCount(pods)), current };
}

function milli(value: number): string {
  return newMilliQuantity(Math.round(value), 'DecimalSI').toString();
}

async function reasoned<T>(reason: string, what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new MetricError(reason, errorMessage(error), `${what}: ${errorMessage(error)}`);
  }
}
