// Metrics of the job controller, with upstream's names.

import type { Job } from '#api/groups/batch/v1/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type Counter,
  exponentialBuckets,
  type Family,
  type Histogram,
  type Instruments,
} from '#machinery/metrics/instruments.ts';
import { isPodTerminal } from '../pod-state.ts';
import { IndexSet } from './index-set.ts';
import { judgeFailure, replacesOnlyFailed } from './job-pods.ts';

type ReadJob = Immutable<Job>;
type ReadPod = Immutable<Pod>;

/** The result of a reconcile. */
export type SyncAction = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted';

const FINALIZER = 'batch.kubernetes.io/job-tracking';

export class JobMetrics {
  readonly #syncs: Family<Counter>;
  readonly #durations: Family<Histogram>;
  readonly #finished: Family<Counter>;
  readonly #external: Family<Counter>;
  readonly #podsFinished: Family<Counter>;
  readonly #policies: Family<Counter>;
  readonly #tracked: Family<Counter>;
  readonly #indexes: Family<Counter>;
  readonly #creations: Family<Counter>;

  constructor(instruments: Instruments) {
    const counter = (name: string, help: string, ...labels: readonly string[]): Family<Counter> =>
      instruments.counter({ name: `job_controller_${name}`, help, labels });
    const ofSync = ['completion_mode', 'result', 'action'];
    this.#syncs = counter('job_syncs_total', 'Looks at a job.', ...ofSync);
    this.#durations = instruments.histogram(
      {
        name: 'job_controller_job_sync_duration_seconds',
        help: 'How long a look at a job took.',
        labels: ofSync,
      },
      exponentialBuckets(0.004, 2, 15),
    );
    this.#finished = counter(
      'jobs_finished_total',
      'Jobs that have ended.',
      'completion_mode',
      'result',
      'reason',
    );
    this.#external = counter(
      'jobs_by_external_controller_total',
      'Jobs that an external controller runs.',
      'controller_name',
    );
    this.#podsFinished = counter(
      'job_pods_finished_total',
      'Pods that have ended and are counted.',
      'completion_mode',
      'result',
    );
    this.#policies = counter(
      'pod_failures_handled_by_failure_policy_total',
      'Failed pods by what the policy made of them.',
      'action',
    );
    this.#tracked = counter(
      'terminated_pods_tracking_finalizer_total',
      'Pods that have ended and are kept until they are counted: added, and deleted when they are not kept any more.',
      'event',
    );
    this.#indexes = counter(
      'job_finished_indexes_total',
      'Indexes that have ended.',
      'status',
      'backoffLimit',
    );
    this.#creations = counter(
      'job_pods_creation_total',
      'Pods made, and that could not be made.',
      'reason',
      'status',
    );
  }

  synced(job: ReadJob, result: 'success' | 'error', action: SyncAction, seconds: number): void {
    const mode = modeOf(job);
    this.#syncs.with(mode, result, action).value++;
    this.#durations.with(mode, result, action).observe(seconds);
  }

  finished(job: ReadJob, outcome: 'Complete' | 'Failed', reason: string): void {
    this.#finished.with(modeOf(job), outcome === 'Complete' ? 'succeeded' : 'failed', reason)
      .value++;
  }

  runElsewhere(controller: string): void {
    this.#external.with(controller).value++;
  }

  /** Records the difference between two statuses. `job`: the job with the new status. */
  counted({ spec, status: before }: ReadJob, job: ReadJob): void {
    const { status } = job;
    const mode = modeOf(job);
    const add = (counter: Counter, difference: number): void => {
      if (difference > 0) counter.value += difference;
    };
    let succeeded = (status.succeeded ?? 0) - (before.succeeded ?? 0);
    if (mode === 'Indexed') {
      const { completions = 0, backoffLimitPerIndex } = spec;
      const count = (text: string | undefined): number => IndexSet.parse(text, completions).size;
      const limit = backoffLimitPerIndex === undefined ? 'global' : 'perIndex';
      succeeded = count(status.completedIndexes) - count(before.completedIndexes);
      add(this.#indexes.with('succeeded', limit), succeeded);
      if (backoffLimitPerIndex !== undefined) {
        add(
          this.#indexes.with('failed', limit),
          count(status.failedIndexes) - count(before.failedIndexes),
        );
      }
    }
    add(this.#podsFinished.with(mode, 'succeeded'), succeeded);
    add(this.#podsFinished.with(mode, 'failed'), (status.failed ?? 0) - (before.failed ?? 0));
  }

  /** Records failed pods, by the action of the pod failure policy. */
  judged(job: ReadJob, pods: readonly ReadPod[]): void {
    for (const pod of pods) {
      const { action, message } = judgeFailure(job, pod);
      // An empty message means that no rule matched.
      if (message !== '') this.#policies.with(action).value++;
    }
  }

  podChanged(before: ReadPod | undefined, pod: ReadPod | undefined): void {
    const [was, is] = [isKept(before), isKept(pod)];
    if (was !== is) this.#tracked.with(is ? 'add' : 'delete').value++;
  }

  created(
    job: ReadJob,
    facts: { readonly failed: number; readonly terminating: number },
    made: number,
    failed: number,
  ): void {
    let reason = 'new';
    if (replacesOnlyFailed(job) && facts.failed > 0) reason = 'recreate_failed';
    else if (facts.failed > 0 || facts.terminating > 0) reason = 'recreate_terminating_or_failed';
    if (made > 0) this.#creations.with(reason, 'succeeded').value += made;
    if (failed > 0) this.#creations.with(reason, 'failed').value += failed;
  }
}

const modeOf = ({ spec }: ReadJob): string => spec.completionMode ?? 'NonIndexed';

const isKept = (pod: ReadPod | undefined): boolean =>
  pod !== undefined && isPodTerminal(pod) && (pod.metadata.finalizers ?? []).includes(FINALIZER);
