// Disruptions of a budget: an eviction reduces the number of allowed disruptions, or is rejected.

import {
  disruptionAllowedCondition,
  SYNC_FAILED,
  withDisruptionAllowed,
} from '#api/groups/policy/v1/conditions.ts';
import type * as policy from '#api/groups/policy/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { formatTime } from '#machinery/text/time.ts';

type PodDisruptionBudget = Immutable<policy.PodDisruptionBudget>;

/**
 * The maximum number of evictions that the budget's controller has not processed yet. More mean
 * that it is not running.
 */
const MAX_DISRUPTED_PODS = 2000;
const RESOURCE = { group: 'policy', resource: 'poddisruptionbudget' } as const;

/** Returns the budget after a disruption of this pod. Throws StatusError if it allows none. */
export function takeDisruption(
  budget: PodDisruptionBudget,
  podName: string,
  now: number,
): PodDisruptionBudget {
  const { metadata, status } = budget;
  const { disruptionsAllowed, disruptedPods = {} } = status;
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0))
    throw stillProcessed(metadata.name);
  if (disruptionsAllowed < 0)
    throw apierrors.forbidden(RESOURCE, metadata.name, 'pdb disruptions allowed is negative');
  if (Object.keys(disruptedPods).length > MAX_DISRUPTED_PODS) {
    const why = 'DisruptedPods map too big - too many evictions not confirmed by PDB controller';
    throw apierrors.forbidden(RESOURCE, metadata.name, why);
  }
  if (disruptionsAllowed === 0) throw violated(whyNot(budget), 0);
  const time = formatTime(now);
  const taken = {
    ...status,
    disruptionsAllowed: disruptionsAllowed - 1,
    // The controller does not count the pod as healthy until it is deleted, or the time is over.
    disruptedPods: { ...disruptedPods, [podName]: time },
  };
  return {
    ...budget,
    status: taken.disruptionsAllowed === 0 ? withDisruptionAllowed(taken, time) : taken,
  };
}

/**
 * Returns the error for a budget whose latest change its controller has not processed yet, or whose
 * pod changed during the eviction. The client retries.
 */
export function stillProcessed(budgetName: string): apierrors.StatusError {
  return violated(
    `The disruption budget ${budgetName} is still being processed by the server.`,
    10,
  );
}

function whyNot({ metadata: { name }, status }: PodDisruptionBudget): string {
  const { reason, message = '' } = disruptionAllowedCondition(status) ?? {};
  const { currentHealthy, desiredHealthy } = status;
  if (reason !== SYNC_FAILED && currentHealthy <= desiredHealthy) {
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  }
  return `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${message}`;
}

function violated(why: string, retryAfterSeconds: number): apierrors.StatusError {
  const message = "Cannot evict pod as it would violate the pod's disruption budget.";
  const { status } = apierrors.tooManyRequests(message, retryAfterSeconds);
  const causes = [{ reason: 'DisruptionBudget', message: why }];
  return new apierrors.StatusError({ ...status, details: { ...status.details, causes } });
}
