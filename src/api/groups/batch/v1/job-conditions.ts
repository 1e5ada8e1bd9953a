// What a job's conditions say.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { JobConditionType, JobStatus } from './types.ts';

/** The condition is there, and true (or what else is asked for). */
export function hasCondition(
  status: Immutable<JobStatus>,
  type: JobConditionType,
  value: 'True' | 'False' = 'True',
): boolean {
  return (status.conditions ?? []).some(
    (condition) => condition.type === type && condition.status === value,
  );
}

/** It has succeeded or failed, and nothing more happens. */
export function isFinished(status: Immutable<JobStatus>): boolean {
  return hasCondition(status, 'Complete') || hasCondition(status, 'Failed');
}
