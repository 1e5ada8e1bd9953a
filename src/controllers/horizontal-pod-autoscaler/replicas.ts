// Computes the number of pods for a metric, as pure functions. Pods without metrics, and pods that
// have just started, are counted so that they make the change smaller, never greater. The algorithm
// is upstream's.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { podCondition } from '../pod-state.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

type ReadPod = Immutable<Pod>;

/** The metric of one pod. `value`: in thousandths. */
export interface PodMetric {
  readonly value: number;
  /** When the metric's window ended, in milliseconds since the epoch. */
  readonly at: number;
  readonly windowMs: number;
}

/** By pod name. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** Ratios that are this close to 1 change nothing. */
export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

/** The CPU usage of a starting pod is no measure of its load. */
const CPU_INITIALIZATION_MS = 5 * 60_000;
const INITIAL_READINESS_DELAY_MS = 30_000;

export function isWithin({ up, down }: Tolerances, ratio: number): boolean {
  return 1 - down <= ratio && ratio <= 1 + up;
}

interface Groups {
  readonly readyCount: number;
  readonly unready: readonly string[];
  readonly missing: readonly string[];
  readonly ignored: readonly string[];
}

function groupPods(
  pods: readonly ReadPod[],
  metrics: PodMetrics,
  isCpu: boolean,
  now: number,
): Groups {
  const unready: string[] = [];
  const missing: string[] = [];
  const ignored: string[] = [];
  let readyCount = 0;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const metric = metrics.get(name);
    if (deletionTimestamp !== undefined || pod.status.phase === 'Failed') ignored.push(name);
    else if (pod.status.phase === 'Pending') unready.push(name);
    else if (metric === undefined) missing.push(name);
    else if (isCpu && isStarting(pod, metric, now)) unready.push(name);
    else readyCount++;
  }
  return { readyCount, unready, missing, ignored };
}

function isStarting(pod: ReadPod, metric: PodMetric, now: number): boolean {
  const ready = podCondition(pod, 'Ready');
  const started = parseTime(pod.status.startTime);
  if (ready === undefined || started === undefined) return true;
  const changed = parseTime(ready.lastTransitionTime) ?? 0;
  if (started + CPU_INITIALIZATION_MS > now)
    return ready.status === 'False' || metric.at < changed + metric.windowMs;
  // The pod is not ready, and never was.
  return ready.status === 'False' && started + INITIAL_READINESS_DELAY_MS > changed;
}

/**
 * Returns the requests of each pod, of all containers or one, in thousandths. Throws Error if a
 * container requests nothing.
 */
export function requestsOf(
  pods: readonly ReadPod[],
  resource: string,
  container: string | undefined,
): ReadonlyMap<string, number> {
  const requests = new Map<string, number>();
  for (const { metadata, spec } of pods) {
    // Restartable init containers run beside the others.
    const sidecars = (spec.initContainers ?? []).filter(
      ({ restartPolicy }) => restartPolicy === 'Always',
    );
    let sum = 0;
    for (const each of [...spec.containers, ...sidecars]) {
      if (container !== undefined && each.name !== container) continue;
      const request = ownValue(each.resources?.requests, resource);
      if (request === undefined) {
        throw new Error(
          `missing request for ${resource} in container ${each.name} of Pod ${metadata.name}`,
        );
      }
      sum += parseQuantity(request).milliValue();
    }
    requests.set(metadata.name, sum);
  }
  return requests;
}

export interface Calculation {
  readonly pods: readonly ReadPod[];
  readonly metrics: PodMetrics;
  readonly isCpu: boolean;
  readonly current: number;
  readonly tolerances: Tolerances;
  readonly now: number;
  /**
   * Returns the ratio of usage to target, and the status. Throws Error if there is nothing to
   * compare.
   */
  readonly usage: (metrics: PodMetrics) => Usage;
  /** The assumed use of pods without metrics when scaling down, in thousandths. */
  readonly assumed: (pod: string) => number;
}

export interface Usage {
  readonly ratio: number;
  /** Percent of the requests; absent for a metric without a utilization. */
  readonly utilization?: number;
  /** The average per pod, in thousandths. */
  readonly average: number;
}

/** Returns the number of pods. Throws Error if there are no pods, or no pod has metrics. */
export function replicasFor(calculation: Calculation): Usage & { readonly replicas: number } {
  const { pods, metrics, isCpu, current, tolerances, now, usage, assumed } = calculation;
  if (pods.length === 0)
    throw new Error('no pods returned by selector while calculating replica count');
  const { readyCount, unready, missing, ignored } = groupPods(pods, metrics, isCpu, now);
  const counted = new Map(metrics);
  for (const name of [...ignored, ...unready]) counted.delete(name);
  if (counted.size === 0)
    throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  const first = usage(counted);
  const growsWithUnready = unready.length > 0 && first.ratio > 1;
  if (!growsWithUnready && missing.length === 0) {
    return {
      ...first,
      replicas: isWithin(tolerances, first.ratio) ? current : Math.ceil(first.ratio * readyCount),
    };
  }
  const nothing = { value: 0, at: now, windowMs: 0 };
  if (first.ratio < 1)
    for (const name of missing) counted.set(name, { ...nothing, value: assumed(name) });
  if (first.ratio > 1) for (const name of missing) counted.set(name, nothing);
  if (growsWithUnready) for (const name of unready) counted.set(name, nothing);
  const { ratio } = usage(counted);
  const turned = (first.ratio < 1 && ratio > 1) || (first.ratio > 1 && ratio < 1);
  if (isWithin(tolerances, ratio) || turned) return { ...first, replicas: current };
  const replicas = Math.ceil(ratio * counted.size);
  const wrongWay = (ratio < 1 && replicas > current) || (ratio > 1 && replicas < current);
  return { ...first, replicas: wrongWay ? current : replicas };
}

/** Computes the utilization of the requests. `target`: in percent. */
export function utilizationOf(
  metrics: PodMetrics,
  requests: ReadonlyMap<string, number>,
  target: number,
): Usage {
  let used = 0;
  let requested = 0;
  let count = 0;
  for (const [name, { value }] of metrics) {
    const request = requests.get(name);
    if (request === undefined) continue;
    used += value;
    requested += request;
    count++;
  }
  if (requested === 0) throw new Error('no metrics returned matched known pods');
  const utilization = Math.trunc((used * 100) / requested);
  return { ratio: utilization / target, utilization, average: Math.trunc(used / count) };
}

/** Computes the average usage. `target`: per pod, in thousandths. */
export function averageOf(metrics: PodMetrics, target: number): Usage {
  let sum = 0;
  for (const { value } of metrics.values()) sum += value;
  const average = Math.trunc(sum / metrics.size);
  return { ratio: average / target, average };
}

/**
 * Returns the number of ready pods. The value of a metric that does not belong to pods is
 * multiplied by it.
 */
export function readyPodCount(pods: readonly ReadPod[]): number {
  if (pods.length === 0)
    throw new Error('no pods returned by selector while calculating replica count');
  return pods.filter(
    (pod) => pod.status.phase === 'Running' && podCondition(pod, 'Ready')?.status === 'True',
  ).length;
}
