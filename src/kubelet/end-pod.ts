// Ends a pod on behalf of the node: for an eviction, a preemption, or the node's shutdown.

import type { Clock } from '#machinery/clock.ts';
import type { PodEvents } from './events.ts';
import type { PodWorkers } from './pod-workers.ts';
import { DISRUPTION_TARGET } from './status/conditions.ts';
import { podUid, type Pod, type PodCondition, type PodStatus } from './types.ts';

export interface EndPodOptions {
  /** The reason and message of the pod's Failed status. */
  readonly reason: string;
  readonly message: string;
  /** The maximum grace period of the containers. Default: the pod's. */
  readonly gracePeriodSeconds?: number;
  /** The message of the condition DisruptionTarget. Absent: the pod does not get it. */
  readonly disruption?: string;
  /** A pod that has succeeded stays so. Default: it fails. */
  readonly keepsSuccess?: boolean;
  /** Also waits, without a deadline, until the pod's volumes are unmounted. Default: false. */
  readonly waitsForVolumes?: boolean;
  /** Aborts the waiting, not the end of the pod. */
  readonly signal: AbortSignal;
}

export interface PodEnders {
  readonly workers: Pick<PodWorkers, 'update' | 'couldHaveRunningContainers' | 'state'>;
  readonly events: PodEvents;
  readonly clock: Clock;
}

const MIN_TIMEOUT_SECONDS = 10;
const POLL_MS = 100;

/**
 * Ends the pod and resolves when its containers have ended. Rejects if that takes much longer than
 * the grace period; the worker of the pod goes on trying.
 */
export async function endPod(
  { workers, events, clock }: PodEnders,
  pod: Pod,
  options: EndPodOptions,
): Promise<void> {
  const { gracePeriodSeconds, signal } = options;
  const grace = gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0;
  workers.update({
    type: 'kill',
    pod,
    kill: {
      gracePeriodSeconds: grace,
      status: (status) => endedStatus(pod, status, options),
    },
  });
  const deadline = clock.monotonic() + Math.max(MIN_TIMEOUT_SECONDS, grace * 1.5) * 1000;
  while (workers.couldHaveRunningContainers(podUid(pod)) === true) {
    if (clock.monotonic() >= deadline) {
      events.warning(
        pod,
        'ExceededGracePeriod',
        'Container runtime did not kill the pod within specified grace period.',
      );
      throw new Error('timeout waiting to kill pod');
    }
    await clock.sleep(POLL_MS, signal);
  }
  if (options.waitsForVolumes !== true) return;
  while (!['finished', undefined].includes(workers.state(podUid(pod))))
    await clock.sleep(POLL_MS, signal);
}

/** Returns the status of a pod that the node ends. */
export function endedStatus(
  pod: Pod,
  status: PodStatus,
  { reason, message, disruption, keepsSuccess }: Omit<EndPodOptions, 'signal'>,
): PodStatus {
  const phase = keepsSuccess === true && status.phase === 'Succeeded' ? 'Succeeded' : 'Failed';
  const failed: PodStatus = { ...status, phase, reason, message };
  if (disruption === undefined) return failed;
  const generation = pod.metadata.generation ?? 0;
  const condition: PodCondition = {
    type: DISRUPTION_TARGET,
    ...(generation > 0 && { observedGeneration: generation }),
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: null,
    reason: 'TerminationByKubelet',
    message: disruption,
  };
  const others = (status.conditions ?? []).filter(({ type }) => type !== DISRUPTION_TARGET);
  return { ...failed, conditions: [...others, condition] };
}
