// What a job's conditions say.

import type { Immutable } from '../../meta/v1/index.ts';
import type { JobConditionType, JobStatus } from './types.ts';

/** The condition is there, and true. */
export function hasCondition(status: Immutable<JobStatus>, type: JobConditionType): boolean {
  return (status.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
}

/** It has succeeded or failed, and nothing more happens. */
export function isFinished(status: Immutable<JobStatus>): boolean {
  return hasCondition(status, 'Complete') || hasCondition(status, 'Failed');
}
