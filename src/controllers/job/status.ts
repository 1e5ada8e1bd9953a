// The status of a job, in the steps in which its pods are counted.

import type { Job, JobCondition, JobStatus } from '#api/groups/batch/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { Facts } from './facts.ts';
import type { ManagedPods } from './pod-manager.ts';
import type { Verdict } from './verdict.ts';

type ReadJob = Immutable<Job>;
type ReadStatus = Immutable<JobStatus>;

/** Sets the start time of a running job: its creation, or its last resumption. */
export function withStart(job: ReadJob, nowMs: number): ReadJob {
  const { startTime: _, ...rest } = job.status;
  if (job.spec.suspend === true)
    return job.status.startTime === undefined ? job : { ...job, status: rest };
  return job.status.startTime === undefined
    ? { ...job, status: { ...job.status, startTime: formatTime(nowMs) } }
    : job;
}

/** Returns the status with the pods that are to be counted, before their finalizers are removed. */
export function statusOf(
  job: ReadJob,
  facts: Facts,
  managed: ManagedPods,
  verdict: Verdict | undefined,
  nowMs: number,
): ReadStatus {
  const { indexes, baseFailed, baseSucceeded, uncountedFailed, uncountedSucceeded } = facts;
  const { startTime } = job.status;
  let conditions = suspension(job, nowMs);
  if (verdict !== undefined) conditions = withCondition(conditions, targetOf(verdict), nowMs);
  const completedIndexes = indexes?.completed.toString() ?? '';
  return {
    ...(startTime !== undefined && { startTime }),
    ...(conditions.length > 0 && { conditions }),
    ...(managed.active > 0 && { active: managed.active }),
    ready: managed.ready,
    terminating: managed.terminating,
    ...(baseSucceeded > 0 && { succeeded: baseSucceeded }),
    ...(baseFailed > 0 && { failed: baseFailed }),
    ...(completedIndexes !== '' && { completedIndexes }),
    ...(indexes?.failed !== undefined && { failedIndexes: indexes.failed.toString() }),
    uncountedTerminatedPods: {
      ...(uncountedSucceeded.length > 0 && { succeeded: uncountedSucceeded }),
      ...(uncountedFailed.length > 0 && { failed: uncountedFailed }),
    },
  };
}

/** Counts the pods whose finalizers are removed. */
export function withCounted(
  job: ReadJob,
  released: ReadonlySet<string>,
  { indexes }: Facts,
): ReadJob {
  const { uncountedTerminatedPods: noted, ...status } = job.status;
  const failed = (noted?.failed ?? []).filter((uid) => !released.has(uid));
  const succeeded = (noted?.succeeded ?? []).filter((uid) => !released.has(uid));
  const allFailed = (status.failed ?? 0) + (noted?.failed ?? []).length - failed.length;
  const allSucceeded =
    indexes === undefined
      ? (status.succeeded ?? 0) + (noted?.succeeded ?? []).length - succeeded.length
      : (status.succeeded ?? 0);
  return {
    ...job,
    status: {
      ...status,
      ...(allFailed > 0 && { failed: allFailed }),
      ...(allSucceeded > 0 && { succeeded: allSucceeded }),
      uncountedTerminatedPods: {
        ...(succeeded.length > 0 && { succeeded }),
        ...(failed.length > 0 && { failed }),
      },
    },
  };
}

/** Adds the final condition when no pod runs any more and all are counted. */
export function withEnd(
  job: ReadJob,
  facts: Facts,
  managed: ManagedPods,
  verdict: Verdict | undefined,
  nowMs: number,
): ReadStatus {
  const { uncountedTerminatedPods: left } = job.status;
  const open = (left?.failed ?? []).length + (left?.succeeded ?? []).length;
  if (
    verdict === undefined ||
    managed.active > 0 ||
    managed.terminating > 0 ||
    open > 0 ||
    facts.indexes?.remembered.size
  ) {
    return job.status;
  }
  const { outcome, reason, message } = verdict;
  const end = { type: outcome, status: 'True' as const, reason, message };
  const conditions = withCondition(job.status.conditions ?? [], end, nowMs);
  return {
    ...job.status,
    conditions,
    ...(outcome === 'Complete' && { completionTime: formatTime(nowMs) }),
  };
}

type Condition = Immutable<JobCondition>;
type ConditionNews = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

function targetOf({ outcome, reason, message }: Verdict): ConditionNews {
  return {
    type: outcome === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget',
    status: 'True',
    reason,
    message,
  };
}

function suspension({ spec, status }: ReadJob, nowMs: number): readonly Condition[] {
  const present = status.conditions ?? [];
  if (spec.suspend === true) {
    return withCondition(
      present,
      { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' },
      nowMs,
    );
  }
  const was = present.some(({ type }) => type === 'Suspended');
  if (!was) return present;
  return withCondition(
    present,
    { type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' },
    nowMs,
  );
}

function withCondition(
  present: readonly Condition[],
  news: ConditionNews,
  nowMs: number,
): readonly Condition[] {
  const index = present.findIndex(({ type }) => type === news.type);
  if (index >= 0 && present[index]?.status === news.status) return present;
  const now = formatTime(nowMs);
  const condition: Condition = { ...news, lastProbeTime: now, lastTransitionTime: now };
  return index < 0 ? [...present, condition] : present.with(index, condition);
}
