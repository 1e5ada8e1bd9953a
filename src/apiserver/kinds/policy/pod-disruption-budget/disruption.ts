// An eviction asks the budget of its pod: it is taken off the number of disruptions that are allowed, or refused.

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

/** More evictions than this that the budget's controller has not yet seen mean that it does not work. */
const MAX_DISRUPTED_PODS = 2000;
const RESOURCE = { group: 'policy', resource: 'poddisruptionbudget' } as const;

/** The budget after one more disruption, of this pod. Throws StatusError if it allows none. */
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
    // Until the pod is gone, or was not deleted after all, the controller does not count it as healthy.
    disruptedPods: { ...disruptedPods, [podName]: time },
  };
  return {
    ...budget,
    status: taken.disruptionsAllowed === 0 ? withDisruptionAllowed(taken, time) : taken,
  };
}

/** Its controller has not yet seen its latest change, or the pod changed while it was being looked at: try again. */
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
