// The status of a ReplicaSet, computed from its pods.

import type { ReplicaSetCondition, ReplicaSetStatus } from '#api/groups/apps/v1/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import { errorMessage } from '#machinery/error-message.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { isPodAvailable, isPodReady, podReadySince } from '../pod-state.ts';
import type { ReplicaOwner } from './replica-owner.ts';

type ReadPod = Immutable<Pod>;
type ReadStatus = Immutable<ReplicaSetStatus>;

export interface StatusInput {
  readonly owner: ReplicaOwner;
  /** The owner's active pods. */
  readonly active: readonly ReadPod[];
  /** The number of terminating pods. */
  readonly terminating: number;
  /** The error of creating or deleting pods. */
  readonly failure: unknown;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

export function calculateStatus({
  owner,
  active,
  terminating,
  failure,
  nowMs,
}: StatusInput): ReadStatus {
  const template = labels.validatedSelectorFromSet(owner.template.metadata.labels);
  let fullyLabeled = 0;
  let ready = 0;
  let available = 0;
  for (const pod of active) {
    if (template.matches(pod.metadata.labels)) fullyLabeled++;
    if (!isPodReady(pod)) continue;
    ready++;
    if (isPodAvailable(pod, owner.minReadySeconds, nowMs)) available++;
  }
  const conditions = conditionsAfter(owner, active.length, failure, nowMs);
  return {
    replicas: active.length,
    ...(fullyLabeled > 0 && { fullyLabeledReplicas: fullyLabeled }),
    ...(ready > 0 && { readyReplicas: ready }),
    ...(available > 0 && { availableReplicas: available }),
    terminatingReplicas: terminating,
    ...(owner.metadata.generation !== undefined && {
      observedGeneration: owner.metadata.generation,
    }),
    ...(conditions.length > 0 && { conditions }),
  };
}

/**
 * Returns the conditions. ReplicaFailure is added with the first failure and removed with the next
 * success; a different failure in between changes nothing.
 */
function conditionsAfter(
  owner: ReplicaOwner,
  active: number,
  failure: unknown,
  nowMs: number,
): readonly Immutable<ReplicaSetCondition>[] {
  const present = owner.status.conditions ?? [];
  const failed = present.some(({ type }) => type === 'ReplicaFailure');
  if (failure === undefined)
    return failed ? present.filter(({ type }) => type !== 'ReplicaFailure') : present;
  if (failed) return present;
  const reason =
    active < owner.replicas ? 'FailedCreate' : active > owner.replicas ? 'FailedDelete' : undefined;
  return [
    ...present,
    {
      type: 'ReplicaFailure',
      status: 'True',
      lastTransitionTime: formatTime(nowMs),
      ...(reason !== undefined && { reason }),
      message: errorMessage(failure),
    },
  ];
}

export function sameStatus(a: ReadStatus, b: ReadStatus): boolean {
  return (
    a.replicas === b.replicas &&
    (a.fullyLabeledReplicas ?? 0) === (b.fullyLabeledReplicas ?? 0) &&
    (a.readyReplicas ?? 0) === (b.readyReplicas ?? 0) &&
    (a.availableReplicas ?? 0) === (b.availableReplicas ?? 0) &&
    a.terminatingReplicas === b.terminatingReplicas &&
    (a.observedGeneration ?? 0) === (b.observedGeneration ?? 0) &&
    JSON.stringify(a.conditions ?? []) === JSON.stringify(b.conditions ?? [])
  );
}

/**
 * Returns in how many milliseconds the next ready pod becomes available; undefined if there is
 * none.
 */
export function nextAvailability(
  active: readonly ReadPod[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  if (minReadySeconds === 0) return undefined;
  let next: number | undefined;
  for (const pod of active) {
    const since = podReadySince(pod);
    if (since === undefined || isPodAvailable(pod, minReadySeconds, nowMs)) continue;
    const left = since + minReadySeconds * 1000 - nowMs;
    if (next === undefined || left < next) next = left;
  }
  return next;
}
