// The status of a StatefulSet, computed from its pods.

import type { StatefulSetStatus } from '#api/groups/apps/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { isPodAvailable, isPodReady } from '../pod-state.ts';
import { podRevision, replicasOf } from './identity.ts';
import type { ReadPod, ReadStatefulSet } from './identity.ts';

export type ReadStatus = Immutable<StatefulSetStatus>;

export const isTerminating = ({ metadata }: ReadPod): boolean =>
  metadata.deletionTimestamp !== undefined;
const isRunningAndReady = (pod: ReadPod): boolean =>
  pod.status.phase === 'Running' && isPodReady(pod);

/** Runs, and has been ready for as long as the set asks. */
export function isAvailable({ spec }: ReadStatefulSet, pod: ReadPod, nowMs: number): boolean {
  return isRunningAndReady(pod) && isPodAvailable(pod, spec.minReadySeconds ?? 0, nowMs);
}

/** A pod that updates have to reckon with. */
export function isUnavailable(set: ReadStatefulSet, pod: ReadPod, nowMs: number): boolean {
  return isTerminating(pod) || !isAvailable(set, pod, nowMs);
}

export interface Revisions {
  /** Names of revisions: of what the pods were, and of what they are to be. */
  readonly current: string;
  readonly update: string;
}

/** `doomed`: pods that have been deleted just now, though they do not say so yet. */
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
