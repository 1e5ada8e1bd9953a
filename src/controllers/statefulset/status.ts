// The status of a StatefulSet, computed from its pods.

import type { StatefulSetStatus } from '#api/groups/apps/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { isPodAvailable, isPodReady } from '../pod-state.ts';
import { podRevision, type ReadPod, type ReadStatefulSet, replicasOf } from './identity.ts';

export type ReadStatus = Immutable<StatefulSetStatus>;

export const isTerminating = ({ metadata }: ReadPod): boolean =>
  metadata.deletionTimestamp !== undefined;
const isRunningAndReady = (pod: ReadPod): boolean =>
  pod.status.phase === 'Running' && isPodReady(pod);

/** Reports whether the pod runs and has been ready for the set's minReadySeconds. */
export function isAvailable({ spec }: ReadStatefulSet, pod: ReadPod, nowMs: number): boolean {
  return isRunningAndReady(pod) && isPodAvailable(pod, spec.minReadySeconds ?? 0, nowMs);
}

/** Reports whether the pod counts as unavailable for rolling updates. */
export function isUnavailable(set: ReadStatefulSet, pod: ReadPod, nowMs: number): boolean {
  return isTerminating(pod) || !isAvailable(set, pod, nowMs);
}

export interface Revisions {
  /** The names of the revisions: of existing pods, and for new pods. */
  readonly current: string;
  readonly update: string;
}

/**
 * Returns the status. `doomed`: pods that were deleted in this reconcile and are not marked as
 * terminating yet.
 */
export function calculateStatus(
  set: ReadStatefulSet,
  pods: readonly ReadPod[],
  doomed: ReadonlySet<ReadPod>,
  { current, update }: Revisions,
  collisionCount: number,
  nowMs: number,
): ReadStatus {
  const staying = pods.filter((pod) => !isTerminating(pod) && !doomed.has(pod));
  const ready = pods.filter(isRunningAndReady);
  const updatedReplicas = staying.filter((pod) => podRevision(pod) === update).length;
  const isComplete =
    set.spec.updateStrategy.type === 'RollingUpdate' &&
    updatedReplicas === replicasOf(set) &&
    ready.length === replicasOf(set) &&
    pods.length === replicasOf(set);
  const currentReplicas = isComplete
    ? updatedReplicas
    : staying.filter((pod) => podRevision(pod) === current).length;
  const { generation } = set.metadata;
  const { conditions } = set.status;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    replicas: pods.length,
    ...(ready.length > 0 && { readyReplicas: ready.length }),
    ...(currentReplicas > 0 && { currentReplicas }),
    ...(updatedReplicas > 0 && { updatedReplicas }),
    currentRevision: isComplete ? update : current,
    updateRevision: update,
    collisionCount,
    ...(conditions !== undefined && { conditions }),
    availableReplicas: pods.filter((pod) => isAvailable(set, pod, nowMs)).length,
  };
}
