// The number of pods that a job wants, and the pods to create or delete for it.

import type { Job } from '#api/groups/batch/v1/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { choosePodsToDelete } from '../replicaset/deletion-ranking.ts';
import { delayAfter } from './backoff.ts';
import type { Facts } from './facts.ts';
import type { IndexFacts } from './indexes.ts';
import { endedAt, hasFailed, indexOf, isIndexed, parallelismOf } from './job-pods.ts';

type ReadJob = Immutable<Job>;
type ReadPod = Immutable<Pod>;

/** Returns the number of active pods that a job wants. `counted`: the present number. */
export function wantedPods(job: ReadJob, { succeeded, indexes }: Facts, counted: number): number {
  const { completions } = job.spec;
  const parallelism = parallelismOf(job);
  // A job without completions winds down after the first success.
  if (completions === undefined)
    return succeeded > 0 ? Math.min(counted, parallelism) : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded - (indexes?.failed?.size ?? 0)));
}

/**
 * Returns surplus pods. First the pods of an indexed job that have no index or a duplicate one,
 * then the pods whose loss costs least.
 */
export function surplusPods(
  job: ReadJob,
  active: readonly ReadPod[],
  count: number,
  nowMs: number,
): readonly ReadPod[] {
  const useless: ReadPod[] = [];
  if (isIndexed(job)) {
    const seen = new Set<number>();
    for (const pod of active) {
      const index = indexOf(pod);
      if (index === undefined || index >= (job.spec.completions ?? 0) || seen.has(index))
        useless.push(pod);
      else seen.add(index);
    }
  }
  const more = count - useless.length;
  if (more <= 0) return useless;
  const others = active.filter((pod) => !useless.includes(pod));
  return [...useless, ...choosePodsToDelete(others, active, more, nowMs)];
}

/**
 * Returns in how many milliseconds the next pod of an index may be created, for a job that limits
 * failures per index.
 */
export function indexWaitMs(
  job: ReadJob,
  { failed, failures, remembered }: IndexFacts,
  index: number,
  nowMs: number,
): number {
  if (failed === undefined) return 0;
  const { counted = 0 } = failures.get(index) ?? {};
  const last = [...remembered].find((pod) => indexOf(pod) === index);
  if (counted === 0 || last === undefined || !hasFailed(last, job)) return 0;
  return Math.max(0, endedAt(last) + delayAfter(counted) - nowMs);
}
