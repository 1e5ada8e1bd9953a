// Jobs: runs pods until as many have succeeded as the job's completions, with its parallelism.
//
// Every pod carries a finalizer until it is counted, and is counted once: first its UID is written
// to the status, then the finalizer is removed, then the count is increased and the UID removed.
// After a restart between any two of these steps, the next one continues.

import { type Job, jobs, type JobStatus } from '#api/groups/batch/v1/index.ts';
import { isFinished } from '#api/groups/batch/v1/job-conditions.ts';
import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { ControllerExpectations } from '#client/expectations.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  type RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { parseTime } from '#machinery/text/time.ts';
import { ControllerBuilder } from '../builder.ts';
import { claimantOf, selectorOf } from '../claim.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { BY_CONTROLLER, controllerOf } from '../controller-ref.ts';
import type { Dependents } from '../dependents.ts';
import { OwnWrites, staleSyncSkips } from '../own-writes.ts';
import { isNamespaceTerminating, PodControl } from '../pod-control.ts';
import { JobBackoff } from './backoff.ts';
import { factsOf } from './facts.ts';
import { PodFinalizers } from './finalizers.ts';
import { hasFinalizer } from './job-pods.ts';
import { JobMetrics, type SyncAction } from './metrics.ts';
import { type ManagedPods, PodManager } from './pod-manager.ts';
import { statusOf, withCounted, withEnd, withStart } from './status.ts';
import { conditionOf, verdictOf, type Verdict } from './verdict.ts';

type ReadJob = Immutable<Job>;
type ReadPod = Immutable<Pod>;
type ReadStatus = Immutable<JobStatus>;

export interface JobControllerConfig extends ControllerConfig {
  /** The number of keys that are reconciled at once. Default: 5. */
  readonly workers?: number;
}

const COMPONENT = 'job-controller';
const MANAGER = 'kubernetes.io/job-controller';

export class JobController implements Controller {
  readonly name = COMPONENT;
  readonly run: Controller['run'];
  readonly #config: JobControllerConfig;
  readonly #jobs: SharedInformer<ReadJob>;
  readonly #pods: Dependents<Job, Pod>;
  /** Keys of pods with the finalizer whose job is gone. */
  readonly #orphans: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #podManager: PodManager;
  readonly #finalizers: PodFinalizers;
  readonly #expectations: ControllerExpectations;
  readonly #writes: OwnWrites;
  readonly #backoff = new JobBackoff();
  readonly #metrics: JobMetrics;

  constructor(config: JobControllerConfig) {
    const { client, clock, workers = 5 } = config;
    this.#config = config;
    const instruments = config.instruments ?? new Instruments();
    this.#metrics = new JobMetrics(instruments);
    const expectations = new ControllerExpectations({ clock });
    this.#expectations = expectations;
    const writes = new OwnWrites({ clock, skips: staleSyncSkips(instruments, 'job_controller') });
    this.#writes = writes;
    const builder = new ControllerBuilder(config, {
      queue: 'job',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#orphans = builder.addQueue({
      queue: 'job_orphan_pod',
      workers: 1,
      reconcile: (key, signal) => this.#releaseOrphan(key, signal),
    });
    this.#recorder = builder.recorder(COMPONENT);
    this.#podManager = new PodManager({
      clock,
      podControl: new PodControl({ client, recorder: this.#recorder }),
      expectations,
      backoff: this.#backoff,
      metrics: this.#metrics,
    });
    this.#jobs = builder.for(jobs, {
      expectations,
      writes,
      predicate: { delete: false },
      onSeen: ({ spec: { managedBy } }, before) => {
        if (before === undefined && managedBy !== undefined && managedBy !== MANAGER)
          this.#metrics.runElsewhere(managedBy);
      },
      onGone: ({ metadata }) => {
        this.#backoff.forget(metadata.uid);
        for (const pod of this.#pods.lister.byIndex(BY_CONTROLLER, metadata.uid))
          this.#considerOrphan(pod);
      },
    });
    this.#pods = builder.owns<Job, Pod>(pods, {
      ownerType: jobs,
      owners: this.#jobs.lister,
      selectorOf,
      expectations,
      writes,
    });
    this.#finalizers = new PodFinalizers(client, this.#pods.lister, writes);
    builder.watches(pods, () => undefined, {
      onSeen: (pod, before) => {
        this.#metrics.podChanged(before, pod);
        this.#considerOrphan(pod);
      },
      onGone: (pod) => this.#metrics.podChanged(pod, undefined),
    });
    // Events of pods arrived before their jobs: now the caches show which pods have a job.
    builder.alongside(async () => {
      for (const pod of this.#pods.lister.list('')) this.#considerOrphan(pod);
    });
    this.run = builder.complete();
  }

  #considerOrphan(pod: ReadPod): void {
    const reference = controllerOf(pod);
    if (!hasFinalizer(pod) || (reference !== undefined && reference.kind !== 'Job')) return;
    if (this.#pods.ownerOf(pod) === undefined) this.#orphans.add(objectKey(pod));
  }

  /** Removes the finalizer of a pod that no job counts. */
  async #releaseOrphan(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const pod = this.#pods.lister.getByKey(key);
    if (pod === undefined || !hasFinalizer(pod)) return reconciled;
    const reference = controllerOf(pod);
    if (reference !== undefined) {
      // The cache may not have the job yet.
      try {
        const live = await this.#config.client
          .resource(jobs)
          .namespace(pod.metadata.namespace ?? '')
          .get(reference.name, { signal });
        if (live.metadata.uid === reference.uid) return reconciled;
      } catch (error) {
        if (!apierrors.isNotFound(error)) throw error;
      }
    }
    await this.#finalizers.remove(pod, signal);
    return reconciled;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const job = this.#jobs.lister.getByKey(key);
    if (job === undefined) return reconciled;
    // An external controller manages the job.
    if (job.spec.managedBy !== undefined && job.spec.managedBy !== MANAGER) return reconciled;
    const behindMs = this.#writes.remainingMs(key);
    if (behindMs > 0) return requeueAfter(behindMs);
    const { clock } = this.#config;
    const begun = clock.monotonic();
    const done: { action: SyncAction } = { action: 'reconciling' };
    let result: 'success' | 'error' = 'error';
    try {
      const next = await this.#sync(key, job, done, signal);
      result = 'success';
      return next;
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (isNamespaceTerminating(error)) return reconciled;
      throw error;
    } finally {
      this.#metrics.synced(job, result, done.action, (clock.monotonic() - begun) / 1000);
    }
  }

  /** Reconciles the job's status and pods. `done`: called as soon as the result is known. */
  async #sync(
    key: string,
    job: ReadJob,
    done: { action: SyncAction },
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { uid } = job.metadata;
    const owned = await this.#pods.claim(job, signal);
    if (isFinished(job.status)) {
      this.#backoff.forget(uid);
      await this.#finalizers.release(key, owned.filter(hasFinalizer), signal);
      return reconciled;
    }
    const nowMs = this.#config.clock.now();
    const started = withStart(job, nowMs);
    const facts = factsOf(started, owned);
    this.#backoff.note(uid, facts.newlyEnded);
    const verdict = verdictOf({ ...facts, job: started, nowMs });
    const managed = await this.#podManager.manage(key, started, facts, verdict, signal);
    done.action = managed.action;
    let current = await this.#report(
      key,
      job,
      statusOf(started, facts, managed, verdict, nowMs),
      signal,
    );
    this.#metrics.judged(started, [...facts.newlyFailed, ...facts.ignored]);
    const released = await this.#finalizers.release(key, facts.toRelease, signal);
    if (
      facts.uncountedFailed.length + facts.uncountedSucceeded.length > 0 ||
      verdict !== undefined
    ) {
      const counted = withCounted(current, released, facts);
      current = await this.#report(
        key,
        current,
        withEnd(counted, facts, managed, verdict, nowMs),
        signal,
      );
      if (verdict !== undefined && isFinished(current.status)) this.#announce(current, verdict);
    }
    if (managed.failure !== undefined) throw managed.failure;
    return nextTime(
      current,
      managed,
      this.#expectations.satisfiedExpectations(key)
        ? undefined
        : this.#expectations.remainingMs(key),
      nowMs,
    );
  }

  #announce(job: ReadJob, { outcome, reason, message }: Verdict): void {
    this.#metrics.finished(job, outcome, reason);
    if (outcome === 'Complete') {
      const { completions } = job.spec;
      if (completions !== undefined && (job.status.succeeded ?? 0) > completions) {
        const message = 'Too many succeeded pods running after completion count reached';
        this.#recorder.event(claimantOf(jobs, job), 'Warning', 'TooManySucceededPods', message);
      }
      this.#recorder.event(claimantOf(jobs, job), 'Normal', 'Completed', 'Job completed');
    } else this.#recorder.event(claimantOf(jobs, job), 'Warning', reason, message);
  }

  async #report(
    key: string,
    job: ReadJob,
    status: ReadStatus,
    signal: AbortSignal,
  ): Promise<ReadJob> {
    if (semanticEqual(status, job.status)) return job;
    const updated = await this.#config.client
      .resource(jobs)
      .updateStatus({ ...job, status }, { signal });
    this.#writes.wrote(key, updated, this.#jobs.lister.getByKey(key));
    this.#metrics.counted(job, updated);
    this.#announceSuspension(job, updated);
    return updated;
  }

  #announceSuspension(before: ReadJob, job: ReadJob): void {
    const [was, is] = [
      conditionOf(before, 'Suspended') !== undefined,
      conditionOf(job, 'Suspended') !== undefined,
    ];
    if (was === is) return;
    if (is) this.#recorder.event(claimantOf(jobs, job), 'Normal', 'Suspended', 'Job suspended');
    else this.#recorder.event(claimantOf(jobs, job), 'Normal', 'Resumed', 'Job resumed');
  }
}

/** Returns when the job needs the next reconcile. */
function nextTime(
  job: ReadJob,
  { againInMs }: ManagedPods,
  expectedInMs: number | undefined,
  nowMs: number,
): ReconcileResult {
  const times: number[] = [];
  if (againInMs !== undefined) times.push(againInMs);
  if (expectedInMs !== undefined) times.push(expectedInMs);
  const startedAt = parseTime(job.status.startTime);
  const { activeDeadlineSeconds, suspend } = job.spec;
  if (
    activeDeadlineSeconds !== undefined &&
    startedAt !== undefined &&
    suspend !== true &&
    !isFinished(job.status)
  ) {
    times.push(Math.max(0, startedAt + activeDeadlineSeconds * 1000 - nowMs));
  }
  const positive = times.filter((ms) => ms > 0);
  return positive.length === 0 ? reconciled : requeueAfter(Math.min(...positive));
}
