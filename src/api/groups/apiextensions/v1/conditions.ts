// The conditions of a definition's status.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { CustomResourceDefinitionCondition, CustomResourceDefinitionStatus } from './types.ts';

type Condition = Immutable<CustomResourceDefinitionCondition>;
type Status = Immutable<CustomResourceDefinitionStatus>;

/** A condition without the time of its transition. */
export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/** Returns the condition of a type; undefined if there is none. */
export function findCondition(status: Status, type: Condition['type']): Condition | undefined {
  return status.conditions?.find((condition) => condition.type === type);
}

/** Reports whether the condition exists and is 'True'. */
export function isConditionTrue(status: Status, type: Condition['type']): boolean {
  return findCondition(status, type)?.status === 'True';
}

/**
 * Returns the status with the condition: at its old place, or at the end if it is new. The time of
 * the transition changes only with the condition's status. `now`: in milliseconds.
 */
export function withCondition(status: Status, condition: NewCondition, now: number): Status {
  const conditions = status.conditions ?? [];
  const old = findCondition(status, condition.type);
  if (old === undefined) {
    return {
      ...status,
      conditions: [...conditions, { ...condition, lastTransitionTime: formatTime(now) }],
    };
  }
  const same = old.status === condition.status && old.lastTransitionTime !== null;
  const lastTransitionTime = same ? old.lastTransitionTime : formatTime(now);
  const { status: truth, reason, message } = condition;
  const changed = { ...old, status: truth, lastTransitionTime, reason, message };
  return { ...status, conditions: conditions.map((each) => (each === old ? changed : each)) };
}

/** Returns the status without the condition. */
export function withoutCondition(status: Status, type: Condition['type']): Status {
  if (findCondition(status, type) === undefined) return status;
  return {
    ...status,
    conditions: (status.conditions ?? []).filter((condition) => condition.type !== type),
  };
}
