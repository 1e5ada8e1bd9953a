// Decisions about the pods of a disruption budget, without I/O.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable, LabelSelector } from '#api/machinery/meta/v1/index.ts';
import { withDisruptionAllowed } from '#api/groups/policy/v1/conditions.ts';
import type {
  PodDisruptionBudget,
  PodDisruptionBudgetStatus,
} from '#api/groups/policy/v1/index.ts';
import { formatTime, parseTime } from '#machinery/text/time.ts';
import { getScaledValueFromIntOrPercent } from '#machinery/text/int-or-string.ts';
import { isPodReady, isPodTerminal, podCondition } from '../pod-state.ts';

type ReadPod = Immutable<Pod>;
type ReadBudget = Immutable<PodDisruptionBudget>;
type ReadStatus = Immutable<PodDisruptionBudgetStatus>;

/**
 * A pod whose eviction was allowed counts as healthy again if it is not being deleted after this
 * time.
 */
const DELETION_TIMEOUT_MS = 2 * 60_000;
/** The same timeout for the condition DisruptionTarget. */
const STALE_CONDITION_MS = 2 * 60_000;

/**
 * Reports whether the expected number of pods comes from their controllers (`amounts` needs it)
 * instead of the number of pods.
 */
export function countsControllers({ spec: { minAvailable, maxUnavailable } }: ReadBudget): boolean {
  return maxUnavailable !== undefined || typeof minAvailable === 'string';
}

/**
 * Returns how many of `expected` pods have to be healthy. Throws Error for an invalid percentage.
 */
export function desiredHealthy(
  { spec: { minAvailable, maxUnavailable } }: ReadBudget,
  expected: number,
): number {
  if (maxUnavailable !== undefined) {
    return Math.max(0, expected - getScaledValueFromIntOrPercent(maxUnavailable, expected, true));
  }
  return minAvailable === undefined
    ? 0
    : getScaledValueFromIntOrPercent(minAvailable, expected, true);
}

export interface Disrupted {
  /**
   * Pods whose eviction was allowed and that are not being deleted yet, with the time of the
   * eviction.
   */
  readonly pods: Readonly<Record<string, string>>;
  /** When the first of these pods reaches the timeout, in milliseconds since the epoch. */
  readonly recheckAt: number | undefined;
  /** Pods that reached the timeout without being deleted. */
  readonly survivors: readonly ReadPod[];
}

export function disruptedPods(
  pods: readonly ReadPod[],
  { disruptedPods: known = {} }: ReadStatus,
  now: number,
): Disrupted {
  const still: Record<string, string> = {};
  const survivors: ReadPod[] = [];
  let recheckAt: number | undefined;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const time = Object.hasOwn(known, name) ? known[name] : undefined;
    if (time === undefined || deletionTimestamp !== undefined) continue;
    const expected = (parseTime(time) ?? 0) + DELETION_TIMEOUT_MS;
    if (expected < now) {
      survivors.push(pod);
      continue;
    }
    still[name] = time;
    recheckAt = Math.min(recheckAt ?? expected, expected);
  }
  return { pods: still, recheckAt, survivors };
}

export function countHealthy(pods: readonly ReadPod[], disrupted: Disrupted['pods']): number {
  return pods.filter((pod) => {
    const { name, deletionTimestamp } = pod.metadata;
    return deletionTimestamp === undefined && !Object.hasOwn(disrupted, name) && isPodReady(pod);
  }).length;
}

export interface Counted {
  readonly expected: number;
  readonly desired: number;
  readonly healthy: number;
  readonly disrupted: Disrupted['pods'];
}

export function statusOf(
  { metadata, status }: ReadBudget,
  counted: Counted,
  now: number,
): ReadStatus {
  const { expected, desired, healthy, disrupted } = counted;
  // A budget without pods allows no evictions: its first pod may appear before the next
  // calculation.
  const allowed = expected <= 0 ? 0 : Math.max(0, healthy - desired);
  const { conditions } = status;
  const next: ReadStatus = {
    ...((metadata.generation ?? 0) > 0 && { observedGeneration: metadata.generation }),
    ...(Object.keys(disrupted).length > 0 && { disruptedPods: disrupted }),
    disruptionsAllowed: allowed,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
    ...(conditions !== undefined && { conditions }),
  };
  return withDisruptionAllowed(next, formatTime(now));
}

/**
 * Returns in how many milliseconds the condition DisruptionTarget of a pod becomes stale, if the
 * pod is not deleted by then; undefined if the pod has no such condition or the condition never
 * becomes stale.
 */
export function untilStale(pod: ReadPod, now: number): number | undefined {
  if (pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) return undefined;
  const condition = podCondition(pod, 'DisruptionTarget');
  // The kubelet sets this reason for pods that it ends itself.
  if (condition?.status !== 'True' || condition.reason === 'TerminationByKubelet') return undefined;
  return (parseTime(condition.lastTransitionTime) ?? now) + STALE_CONDITION_MS - now;
}

/** Formats a selector as upstream's messages do. */
export function describeSelector(selector: Immutable<LabelSelector> | undefined): string {
  if (selector === undefined) return 'nil';
  const labels = Object.entries(selector.matchLabels ?? {}).toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  const requirements = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  const map = labels.map(([key, value]) => `${key}: ${value},`).join('');
  return (
    `&LabelSelector{MatchLabels:map[string]string{${map}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${requirements.join('')}},}`
  );
}
