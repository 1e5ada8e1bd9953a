// The state of a pod, as controllers derive it from the status.

import type { Pod, PodCondition } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';

type ReadPod = Immutable<Pod>;

export function podCondition(pod: ReadPod, type: string): Immutable<PodCondition> | undefined {
  return pod.status.conditions?.find((condition) => condition.type === type);
}

export function isPodReady(pod: ReadPod): boolean {
  return podCondition(pod, 'Ready')?.status === 'True';
}

/**
 * Returns since when the pod is ready, in milliseconds since the epoch; undefined if it is not
 * ready or the time is missing.
 */
export function podReadySince(pod: ReadPod): number | undefined {
  const condition = podCondition(pod, 'Ready');
  return condition?.status === 'True' ? parseTime(condition.lastTransitionTime) : undefined;
}

/**
 * Reports whether the pod has been ready for at least `minReadySeconds`. `nowMs`: since the epoch.
 */
export function isPodAvailable(pod: ReadPod, minReadySeconds: number, nowMs: number): boolean {
  if (!isPodReady(pod)) return false;
  if (minReadySeconds === 0) return true;
  const since = podReadySince(pod);
  return since !== undefined && since + minReadySeconds * 1000 <= nowMs;
}

/** Reports whether the pod has ended, successfully or not. */
export function isPodTerminal(pod: ReadPod): boolean {
  return pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
}

/**
 * Reports whether the pod counts as one of its controller's pods: it has not ended and is not being
 * deleted.
 */
export function isPodActive(pod: ReadPod): boolean {
  return !isPodTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** Reports whether the pod is being deleted and may still run. */
export function isPodTerminating(pod: ReadPod): boolean {
  return !isPodTerminal(pod) && pod.metadata.deletionTimestamp !== undefined;
}
