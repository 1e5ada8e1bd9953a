// The condition by which a pod says that it is going to be, or has been, taken away from outside,
// and why.

import type { Pod, PodCondition } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import { podCondition } from './pod-state.ts';

/** `nowMs`: since the epoch. One that said so before keeps the time from which it does. */
export function disruptionTarget(
  pod: Immutable<Pod>,
  reason: string,
  message: string,
  nowMs: number,
): Immutable<PodCondition> {
  const present = podCondition(pod, 'DisruptionTarget');
  return {
    type: 'DisruptionTarget',
    ...generationOf(pod),
    status: 'True',
    reason,
    message,
    lastProbeTime: null,
    lastTransitionTime: present?.status === 'True' ? present.lastTransitionTime : formatTime(nowMs),
  };
}

/** It was to be taken away, and was not. */
export function noDisruptionTarget(pod: Immutable<Pod>, nowMs: number): Immutable<PodCondition> {
  return {
    type: 'DisruptionTarget',
    ...generationOf(pod),
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: formatTime(nowMs),
  };
}

/** The UID of the pod that was evaluated. */
function generationOf({
  metadata: { generation },
}: Immutable<Pod>): Pick<PodCondition, 'observedGeneration'> {
  return generation === undefined ? {} : { observedGeneration: generation };
}
