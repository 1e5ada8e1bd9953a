// The condition of disruption budgets: whether another pod may be disrupted, and the reason if not.

import type { Condition as MutableCondition, Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as policy from './types.ts';

type Condition = Immutable<MutableCondition>;
type Status = Immutable<policy.PodDisruptionBudgetStatus>;

const DISRUPTION_ALLOWED = 'DisruptionAllowed';
export const SYNC_FAILED = 'SyncFailed';

export function disruptionAllowedCondition({ conditions = [] }: Status): Condition | undefined {
  return conditions.find(({ type }) => type === DISRUPTION_ALLOWED);
}

/**
 * Returns the status with the condition for its number of disruptions. `time`: of the change, in
 * the API's form.
 */
export function withDisruptionAllowed(status: Status, time: string): Status {
  const isAllowed = status.disruptionsAllowed > 0;
  return withCondition(
    status,
    isAllowed,
    isAllowed ? 'SufficientPods' : 'InsufficientPods',
    '',
    time,
  );
}

/** Returns the status that allows no disruptions, because the state of the pods is unknown. */
export function withSyncFailed(status: Status, why: string, time: string): Status {
  return withCondition({ ...status, disruptionsAllowed: 0 }, false, SYNC_FAILED, why, time);
}

function withCondition(
  status: Status,
  isTrue: boolean,
  reason: string,
  message: string,
  time: string,
): Status {
  const old = disruptionAllowedCondition(status);
  const value = isTrue ? 'True' : 'False';
  const { observedGeneration } = status;
  const condition: Condition = {
    type: DISRUPTION_ALLOWED,
    status: value,
    ...(observedGeneration !== undefined && { observedGeneration }),
    lastTransitionTime: old?.status === value ? old.lastTransitionTime : time,
    reason,
    message,
  };
  const { conditions = [] } = status;
  const others = conditions.filter((each) => each !== old);
  return {
    ...status,
    conditions:
      old === undefined
        ? [...others, condition]
        : conditions.with(conditions.indexOf(old), condition),
  };
}
