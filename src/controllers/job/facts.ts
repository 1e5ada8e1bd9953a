// The state of a job's pods, from the job's status and the pods that it controls.

import type { Job } from '#api/groups/batch/v1/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { isPodTerminal } from '../pod-state.ts';
import { indexFacts, type IndexFacts } from './indexes.ts';
import {
  hasFailed,
  hasFinalizer,
  hasSucceeded,
  isIndexed,
  judgeFailure,
  replacesOnlyFailed,
} from './job-pods.ts';

type ReadJob = Immutable<Job>;
type ReadPod = Immutable<Pod>;

/** The maximum number of UIDs that wait in a status. */
const MAX_UNCOUNTED = 500;

/** The state of a job's pods. */
export interface Facts {
  readonly indexes: IndexFacts | undefined;
  readonly active: readonly ReadPod[];
  /** Pods that are being deleted and have not ended. */
  readonly terminating: number;
  /**
   * Pods that hold their index: active pods, and, if only failed pods are replaced, terminating
   * ones.
   */
  readonly holding: readonly ReadPod[];
  readonly newlyFailed: readonly ReadPod[];
  /** Failed pods that the pod failure policy ignores. */
  readonly ignored: readonly ReadPod[];
  readonly newlyEnded: readonly ReadPod[];
  readonly failed: number;
  readonly succeeded: number;
  /** UIDs of pods to record in the status. */
  readonly uncountedFailed: readonly string[];
  readonly uncountedSucceeded: readonly string[];
  /** Counts of the status, including recorded pods whose finalizers are removed. */
  readonly baseFailed: number;
  readonly baseSucceeded: number;
  /** Pods whose finalizers may be removed once the status is written. */
  readonly toRelease: readonly ReadPod[];
}

/** Returns the state of the pods of a job. `owned`: the pods that it controls. */
export function factsOf(job: ReadJob, owned: readonly ReadPod[]): Facts {
  const { status } = job;
  const byUid = new Map(owned.map((pod) => [pod.metadata.uid, pod]));
  const isKept = (uid: string): boolean => {
    const pod = byUid.get(uid);
    return pod !== undefined && hasFinalizer(pod);
  };
  const noted = {
    succeeded: status.uncountedTerminatedPods?.succeeded ?? [],
    failed: status.uncountedTerminatedPods?.failed ?? [],
  };
  const seen = new Set([...noted.succeeded, ...noted.failed]);
  const indexes = isIndexed(job) ? indexFacts(job, owned) : undefined;

  const tracked = owned.filter((pod) => hasFinalizer(pod));
  const fresh = tracked
    .filter(({ metadata }) => !seen.has(metadata.uid))
    .slice(0, Math.max(0, MAX_UNCOUNTED - seen.size));
  const newlySucceeded = fresh.filter(hasSucceeded);
  const ended = fresh.filter(
    (pod) => !hasSucceeded(pod) && hasFailed(pod, job) && indexes?.remembered.has(pod) !== true,
  );
  const ignored = ended.filter((pod) => judgeFailure(job, pod).action === 'Ignore');
  const newlyFailed = ended.filter((pod) => !ignored.includes(pod));

  const keptFailed = noted.failed.filter(isKept);
  const keptSucceeded = noted.succeeded.filter(isKept);
  const baseFailed = (status.failed ?? 0) + noted.failed.length - keptFailed.length;
  // For an indexed job, the completed indexes are the count.
  const baseSucceeded =
    indexes === undefined
      ? (status.succeeded ?? 0) + noted.succeeded.length - keptSucceeded.length
      : indexes.completed.size;
  const uncountedFailed = [...keptFailed, ...newlyFailed.map(({ metadata }) => metadata.uid)];
  const uncountedSucceeded =
    indexes === undefined
      ? [...keptSucceeded, ...newlySucceeded.map(({ metadata }) => metadata.uid)]
      : [];
  const active = owned.filter(
    (pod) => !isPodTerminal(pod) && pod.metadata.deletionTimestamp === undefined,
  );
  const leaving = owned.filter(
    (pod) => !isPodTerminal(pod) && pod.metadata.deletionTimestamp !== undefined,
  );
  const noticed = new Set([...uncountedFailed, ...uncountedSucceeded]);
  return {
    indexes,
    active,
    terminating: leaving.length,
    holding: replacesOnlyFailed(job) ? [...active, ...leaving] : active,
    newlyFailed,
    ignored,
    newlyEnded: [...newlySucceeded, ...newlyFailed],
    failed: baseFailed + uncountedFailed.length,
    succeeded: indexes === undefined ? baseSucceeded + uncountedSucceeded.length : baseSucceeded,
    uncountedFailed,
    uncountedSucceeded,
    baseFailed,
    baseSucceeded,
    toRelease: tracked.filter(
      (pod) =>
        noticed.has(pod.metadata.uid) ||
        ignored.includes(pod) ||
        (indexes !== undefined && newlySucceeded.includes(pod)),
    ),
  };
}
