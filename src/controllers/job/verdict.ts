// Decides whether a job has ended, and with which outcome, from its pods. Reasons and messages are
// upstream's (pkg/controller/job).

import type { Job, JobCondition } from '#api/groups/batch/v1/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import { metSuccessRule, type IndexFacts } from './indexes.ts';
import { judgeFailure } from './job-pods.ts';

type ReadJob = Immutable<Job>;
type ReadPod = Immutable<Pod>;

/** The outcome that the job will have once all of its pods have ended. */
export interface Verdict {
  readonly outcome: 'Complete' | 'Failed';
  readonly reason: string;
  readonly message: string;
}

export interface Standing {
  readonly job: ReadJob;
  /** Undefined for a job without indexes. */
  readonly indexes: IndexFacts | undefined;
  /** Pods that have failed and are not counted in the status yet. */
  readonly newlyFailed: readonly ReadPod[];
  /** All failed pods, including the newly failed ones. */
  readonly failed: number;
  readonly succeeded: number;
  readonly active: readonly ReadPod[];
  readonly terminating: number;
  readonly nowMs: number;
}

export function conditionOf(
  { status }: ReadJob,
  type: string,
): Immutable<JobCondition> | undefined {
  return status.conditions?.find(
    (condition) => condition.type === type && condition.status === 'True',
  );
}

/**
 * Returns the verdict; undefined if the job continues. A verdict that is in the status already
 * stays.
 */
export function verdictOf(standing: Standing): Verdict | undefined {
  const { job } = standing;
  const failing = conditionOf(job, 'FailureTarget');
  if (failing !== undefined)
    return { outcome: 'Failed', reason: failing.reason ?? '', message: failing.message ?? '' };
  const met = conditionOf(job, 'SuccessCriteriaMet');
  if (met !== undefined)
    return { outcome: 'Complete', reason: met.reason ?? '', message: met.message ?? '' };
  return failure(standing) ?? success(standing);
}

function failure({
  job,
  indexes,
  newlyFailed,
  failed,
  active,
  nowMs,
}: Standing): Verdict | undefined {
  const { spec, status } = job;
  for (const pod of spec.podFailurePolicy === undefined ? [] : newlyFailed) {
    const { action, message } = judgeFailure(job, pod);
    if (action === 'FailJob') return { outcome: 'Failed', reason: 'PodFailurePolicy', message };
  }
  const limit = spec.backoffLimit ?? 6;
  if ((newlyFailed.length > 0 && failed > limit) || restartedTooOften(job, active)) {
    return {
      outcome: 'Failed',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    };
  }
  const startedAt = parseTime(status.startTime);
  if (
    spec.suspend !== true &&
    spec.activeDeadlineSeconds !== undefined &&
    startedAt !== undefined
  ) {
    if (nowMs - startedAt >= spec.activeDeadlineSeconds * 1000) {
      return {
        outcome: 'Failed',
        reason: 'DeadlineExceeded',
        message: 'Job was active longer than specified deadline',
      };
    }
  }
  const hopeless = indexes?.failed?.size ?? 0;
  if (spec.maxFailedIndexes !== undefined && hopeless > spec.maxFailedIndexes) {
    const message = 'Job has exceeded the specified maximal number of failed indexes';
    return { outcome: 'Failed', reason: 'MaxFailedIndexesExceeded', message };
  }
  if (
    indexes !== undefined &&
    hopeless > 0 &&
    indexes.completed.size + hopeless >= (spec.completions ?? 0)
  ) {
    return { outcome: 'Failed', reason: 'FailedIndexes', message: 'Job has failed indexes' };
  }
  return undefined;
}

/**
 * Reports whether the job exceeds its back-off limit by container restarts. Restarts within pods
 * count as failures, too.
 */
function restartedTooOften({ spec }: ReadJob, active: readonly ReadPod[]): boolean {
  if (spec.template.spec.restartPolicy !== 'OnFailure') return false;
  let restarts = 0;
  for (const { status } of active) {
    if (status.phase !== 'Running' && status.phase !== 'Pending') continue;
    for (const { restartCount } of [
      ...(status.initContainerStatuses ?? []),
      ...(status.containerStatuses ?? []),
    ])
      restarts += restartCount;
  }
  const limit = spec.backoffLimit ?? 6;
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

function success({ job, indexes, succeeded, active, terminating }: Standing): Verdict | undefined {
  const { completions } = job.spec;
  if (indexes !== undefined) {
    const rule = metSuccessRule(job, indexes.completed);
    if (rule !== undefined) {
      return {
        outcome: 'Complete',
        reason: 'SuccessPolicy',
        message: `Matched rules at index ${rule}`,
      };
    }
  }
  // A job without completions ends with the first success, once the other pods have ended.
  const complete =
    completions === undefined
      ? succeeded > 0 && active.length === 0 && terminating === 0
      : succeeded >= completions;
  if (!complete) return undefined;
  return {
    outcome: 'Complete',
    reason: 'CompletionsReached',
    message: 'Reached expected number of succeeded pods',
  };
}
