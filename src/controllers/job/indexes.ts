// The indexes of an indexed job: which have succeeded, which have failed, and which run next.

import type { Job } from '#api/groups/batch/v1/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { hasCondition } from '#api/groups/batch/v1/job-conditions.ts';
import { IndexSet } from './index-set.ts';
import {
  annotatedCount,
  hasFailed,
  hasSucceeded,
  INDEX_FAILURE_COUNT,
  INDEX_IGNORED_FAILURE_COUNT,
  indexOf,
  judgeFailure,
} from './job-pods.ts';

type ReadJob = Immutable<Job>;
type ReadPod = Immutable<Pod>;

export interface Failures {
  readonly counted: number;
  readonly ignored: number;
}

export interface IndexFacts {
  readonly completed: IndexSet;
  /** Absent: the job does not limit failures per index. */
  readonly failed: IndexSet | undefined;
  /** By index: the number of failures so far, as recorded in its pods. */
  readonly failures: ReadonlyMap<number, Failures>;
  /** Failed pods without a replacement: they hold the failure count of their index. */
  readonly remembered: ReadonlySet<ReadPod>;
}

export function indexFacts(job: ReadJob, pods: readonly ReadPod[]): IndexFacts {
  const completions = job.spec.completions ?? 0;
  const below = (pod: ReadPod): number | undefined => {
    const index = indexOf(pod);
    return index !== undefined && index < completions ? index : undefined;
  };
  const completed = IndexSet.parse(job.status.completedIndexes, completions).with(
    pods.filter(hasSucceeded).flatMap((pod) => below(pod) ?? []),
  );
  const limit = job.spec.backoffLimitPerIndex;
  if (limit === undefined)
    return { completed, failed: undefined, failures: new Map(), remembered: new Set() };

  const failures = new Map<number, Failures>();
  const last = new Map<number, ReadPod>();
  const hopeless: number[] = [];
  for (const pod of pods) {
    const index = below(pod);
    if (index === undefined || hasSucceeded(pod)) continue;
    let counted = annotatedCount(pod, INDEX_FAILURE_COUNT);
    let ignored = annotatedCount(pod, INDEX_IGNORED_FAILURE_COUNT);
    if (hasFailed(pod, job)) {
      const { action } = judgeFailure(job, pod);
      if (action === 'FailIndex') hopeless.push(index);
      if (action === 'Ignore') ignored++;
      else counted++;
    }
    const known = failures.get(index);
    if (known === undefined || counted + ignored > known.counted + known.ignored) {
      failures.set(index, { counted, ignored });
      if (hasFailed(pod, job)) last.set(index, pod);
      else last.delete(index);
    }
  }
  // A finished job deletes its pods. This is not a failure of their indexes, so nothing is
  // recorded.
  const isOver =
    hasCondition(job.status, 'FailureTarget') || hasCondition(job.status, 'SuccessCriteriaMet');
  const failedSoFar = IndexSet.parse(job.status.failedIndexes, completions);
  const failed = isOver
    ? failedSoFar
    : failedSoFar.with([
        ...hopeless,
        ...[...failures].flatMap(([index, { counted }]) => (counted > limit ? [index] : [])),
      ]);
  const remembered = new Set(
    isOver
      ? []
      : [...last].flatMap(([index, pod]) =>
          failed.has(index) || completed.has(index) ? [] : [pod],
        ),
  );
  return {
    completed,
    failed: failed.without(completed),
    failures,
    remembered,
  };
}

/** Returns the lowest `count` indexes that have neither ended nor are in `taken`. */
export function nextIndexes(
  job: ReadJob,
  facts: IndexFacts,
  taken: ReadonlySet<number>,
  count: number,
): readonly number[] {
  const next: number[] = [];
  const completions = job.spec.completions ?? 0;
  const ended = facts.failed === undefined ? facts.completed : facts.completed.union(facts.failed);
  for (
    let index = ended.nextAbsent(0);
    index < completions && next.length < count;
    index = ended.nextAbsent(index + 1)
  ) {
    if (!taken.has(index)) next.push(index);
  }
  return next;
}

/** Returns the position of the first success policy rule that is met; undefined if none is. */
export function metSuccessRule({ spec }: ReadJob, completed: IndexSet): number | undefined {
  const index = (spec.successPolicy?.rules ?? []).findIndex(
    ({ succeededIndexes, succeededCount }) => {
      if (succeededIndexes === undefined)
        return completed.size >= (succeededCount ?? Number.POSITIVE_INFINITY);
      const wanted = IndexSet.parse(succeededIndexes, spec.completions);
      const succeeded = wanted.size - wanted.without(completed).size;
      return succeeded >= (succeededCount ?? wanted.size);
    },
  );
  return index < 0 ? undefined : index;
}
