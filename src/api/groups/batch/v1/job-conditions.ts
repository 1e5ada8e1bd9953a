// The meaning of a job's conditions.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { JobConditionType, JobStatus } from './types.ts';

/** Reports whether the condition exists with the status True, or another given status. */
export function hasCondition(
  status: Immutable<JobStatus>,
  type: JobConditionType,
  value: 'True' | 'False' = 'True',
): boolean {
  return (status.conditions ?? []).some(
    (condition) => condition.type === type && condition.status === value,
  );
}

/** Reports whether the job has succeeded or failed. */
export function isFinished(status: Immutable<JobStatus>): boolean {
  return hasCondition(status, 'Complete') || hasCondition(status, 'Failed');
}
