// The pod condition DisruptionTarget: the pod is about to be, or has been, terminated by a
// disruption, with the reason.

import type { Pod, PodCondition } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import { podCondition } from './pod-state.ts';

/**
 * Returns the condition. If the pod has it already, its transition time is kept. `nowMs`: since the
 * epoch.
 */
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

/** Returns the condition for a pod whose disruption did not happen. */
export function noDisruptionTarget(pod: Immutable<Pod>, nowMs: number): Immutable<PodCondition> {
  return {
    type: 'DisruptionTarget',
    ...generationOf(pod),
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: formatTime(nowMs),
  };
}

/** Returns the pod's generation, if the condition records it. */
function generationOf({
  metadata: { generation },
}: Immutable<Pod>): Pick<PodCondition, 'observedGeneration'> {
  return generation === undefined ? {} : { observedGeneration: generation };
}
