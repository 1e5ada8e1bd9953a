// Jobs: runs pods until as many have succeeded as the job's completions, with its parallelism.
//
// Every pod carries a finalizer until it is counted, and is counted once: first its UID is written
// to the status, then the finalizer is removed, then the count is increased and the UID removed.
// After a restart between any two of these steps, the next one continues.

import { type Job, type JobCondition, jobs, type JobStatus } from '#api/groups/batch/v1/index.ts';
import { isFinished } from '#api/groups/batch/v1/job-conditions.ts';
import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { ControllerExpectations } from '#client/expectations.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { formatTime, parseTime } from '#machinery/text/time.ts';
import {
  type RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { ControllerBuilder } from '../builder.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { claimantOf, selectorOf } from '../claim.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { BY_CONTROLLER, controllerOf, newControllerRef } from '../controller-ref.ts';
import type { Dependents } from '../dependents.ts';
import { OwnWrites, staleSyncSkips } from '../own-writes.ts';
import { isNamespaceTerminating, PodControl } from '../pod-control.ts';
import { isPodReady, isPodTerminal } from '../pod-state.ts';
import { choosePodsToDelete } from '../replicaset/deletion-ranking.ts';
import { slowStartBatch } from '../slow-start.ts';
import { delayAfter, JobBackoff } from './backoff.ts';
import { indexFacts, nextIndexes, type IndexFacts } from './indexes.ts';
import {
  endedAt,
  hasFailed,
  hasFinalizer,
  hasSucceeded,
  indexOf,
  isIndexed,
  judgeFailure,
  parallelismOf,
  replacesOnlyFailed,
  templateFor,
  TRACKING_FINALIZER,
} from './job-pods.ts';
import { JobMetrics, type SyncAction } from './metrics.ts';
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
/** The maximum number of pods that one reconcile creates, or deletes. */
const BURST = 500;
/** The maximum number of UIDs that wait in a status. */
const MAX_UNCOUNTED = 500;
/** The number of finalizers that are removed at once. */
const FINALIZER_WORKERS = 16;

export class JobController implements Controller {
  readonly name = COMPONENT;
  readonly run: Controller['run'];
  readonly #config: JobControllerConfig;
  readonly #jobs: SharedInformer<ReadJob>;
  readonly #pods: Dependents<Job, Pod>;
  /** Keys of pods with the finalizer whose job is gone. */
  readonly #orphans: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #podControl: PodControl;
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
    this.#podControl = new PodControl({ client, recorder: this.#recorder });
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
    await this.#removeFinalizer(pod, signal);
    return reconciled;
  }

  async #removeFinalizer(pod: ReadPod, signal: AbortSignal): Promise<ReadPod | undefined> {
    const { name, namespace = '', uid } = pod.metadata;
    const patch = {
      metadata: { uid, '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] },
    };
    try {
      return await this.#config.client
        .resource(pods)
        .namespace(namespace)
        .patch(name, 'application/strategic-merge-patch+json', patch, { signal });
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      // A conflict may mean that another pod has the name: then the cache will show that this pod
      // is gone.
      throw error;
    }
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
      await this.#release(key, owned.filter(hasFinalizer), signal);
      return reconciled;
    }
    const nowMs = this.#config.clock.now();
    const started = withStart(job, nowMs);
    const facts = factsOf(started, owned);
    this.#backoff.note(uid, facts.newlyEnded);
    const verdict = verdictOf({ ...facts, job: started, nowMs });
    const managed = await this.#manage(key, started, facts, verdict, signal);
    done.action = managed.action;
    let current = await this.#report(
      key,
      job,
      statusOf(started, facts, managed, verdict, nowMs),
      signal,
    );
    this.#metrics.judged(started, [...facts.newlyFailed, ...facts.ignored]);
    const released = await this.#release(key, facts.toRelease, signal);
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

  /** Creates and deletes pods. If the job has ended or is suspended, deletes all active pods. */
  async #manage(
    key: string,
    job: ReadJob,
    facts: Facts,
    verdict: Verdict | undefined,
    signal: AbortSignal,
  ): Promise<Managed> {
    const { active } = facts;
    const idle: Managed = {
      action: 'tracking',
      active: active.length,
      ready: active.filter(isPodReady).length,
      terminating: facts.terminating,
    };
    if (
      !this.#expectations.satisfiedExpectations(key) ||
      job.metadata.deletionTimestamp !== undefined
    )
      return idle;
    if (verdict !== undefined || job.spec.suspend === true)
      return this.#delete(key, job, facts, active, signal);
    const counted = active.length + (replacesOnlyFailed(job) ? facts.terminating : 0);
    const wanted = wantedPods(job, facts, counted);
    const surplus = surplusPods(job, active, counted - wanted, this.#config.clock.now());
    if (surplus.length > 0) return this.#delete(key, job, facts, surplus, signal);
    if (counted >= wanted) return idle;
    const nowMs = this.#config.clock.now();
    const waitMs =
      facts.indexes?.failed === undefined ? this.#backoff.remainingMs(job.metadata.uid, nowMs) : 0;
    if (waitMs > 0) return { ...idle, againInMs: waitMs };
    return this.#create(key, job, facts, Math.min(wanted - counted, BURST), idle, signal);
  }

  async #create(
    key: string,
    job: ReadJob,
    facts: Facts,
    count: number,
    idle: Managed,
    signal: AbortSignal,
  ): Promise<Managed> {
    const { indexes } = facts;
    const nowMs = this.#config.clock.now();
    let againInMs: number | undefined;
    let slots: readonly (number | undefined)[] = Array.from({ length: count }, () => undefined);
    if (indexes !== undefined) {
      const taken = new Set(facts.holding.flatMap((pod) => indexOf(pod) ?? []));
      slots = nextIndexes(job, indexes, taken, count).filter((index) => {
        const waitMs = indexWaitMs(job, indexes, index, nowMs);
        if (waitMs > 0) againInMs = Math.min(againInMs ?? Number.POSITIVE_INFINITY, waitMs);
        return waitMs === 0;
      });
    }
    const owner = claimantOf(jobs, job);
    const reference = newControllerRef(job.metadata, owner);
    const pending = slots.values();
    this.#expectations.expectCreations(key, slots.length);
    let refused = 0;
    const { successes, failure } = await slowStartBatch(slots.length, 1, async () => {
      const { value: index } = pending.next();
      const failures = (index === undefined ? undefined : indexes?.failures.get(index)) ?? {
        counted: 0,
        ignored: 0,
      };
      const baseName = index === undefined ? job.metadata.name : `${job.metadata.name}-${index}`;
      const made = this.#podControl.create(
        owner,
        templateFor(job, index, failures),
        reference,
        signal,
        baseName,
      );
      await made.catch((error: unknown) => {
        refused++;
        throw error;
      });
    });
    for (let i = successes; i < slots.length; i++) this.#expectations.creationObserved(key);
    this.#metrics.created(job, facts, successes, refused);
    return {
      ...idle,
      action: 'pods_created',
      active: idle.active + successes,
      ...(againInMs !== undefined && { againInMs }),
      ...(failure !== undefined && !isNamespaceTerminating(failure) && { failure }),
    };
  }

  async #delete(
    key: string,
    job: ReadJob,
    facts: Facts,
    doomed: readonly ReadPod[],
    signal: AbortSignal,
  ): Promise<Managed> {
    const chosen = doomed.slice(0, BURST);
    this.#expectations.expectDeletions(
      key,
      chosen.map(({ metadata }) => metadata.uid),
    );
    const results = await Promise.allSettled(
      chosen.map(async (pod) => {
        try {
          await this.#podControl.delete(claimantOf(jobs, job), pod, signal);
        } catch (error) {
          this.#expectations.deletionObserved(key, pod.metadata.uid);
          if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) throw error;
        }
      }),
    );
    const failed = results.filter((result) => result.status === 'rejected');
    const gone = chosen.filter((_, index) => results[index]?.status === 'fulfilled');
    const left = facts.active.filter((pod) => !gone.includes(pod));
    return {
      action: 'pods_deleted',
      active: left.length,
      ready: left.filter(isPodReady).length,
      terminating: facts.terminating + gone.length,
      ...(failed[0] !== undefined && { failure: failed[0].reason }),
    };
  }

  /**
   * Removes the finalizers of pods whose UIDs are in the status. Returns the UIDs of the pods
   * without a finalizer.
   */
  async #release(
    key: string,
    doomed: readonly ReadPod[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const released = new Set<string>();
    const pending = doomed.values();
    const failures: unknown[] = [];
    const work = async (): Promise<void> => {
      for (const pod of pending) {
        try {
          const patched = await this.#removeFinalizer(pod, signal);
          if (patched !== undefined)
            this.#writes.wrote(key, patched, this.#pods.lister.getByKey(objectKey(pod)) ?? patched);
          released.add(pod.metadata.uid);
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(FINALIZER_WORKERS, doomed.length) }, work));
    if (failures.length > 0) throw failures[0];
    return released;
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

interface Managed {
  readonly action: SyncAction;
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
  /** In how many milliseconds delayed pods may be created. */
  readonly againInMs?: number;
  readonly failure?: unknown;
}

/** The state of a job's pods. */
interface Facts {
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

function factsOf(job: ReadJob, owned: readonly ReadPod[]): Facts {
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

function wantedPods(job: ReadJob, { succeeded, indexes }: Facts, counted: number): number {
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
function surplusPods(
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
function indexWaitMs(
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

/** Sets the start time of a running job: its creation, or its last resumption. */
function withStart(job: ReadJob, nowMs: number): ReadJob {
  const { startTime: _, ...rest } = job.status;
  if (job.spec.suspend === true)
    return job.status.startTime === undefined ? job : { ...job, status: rest };
  return job.status.startTime === undefined
    ? { ...job, status: { ...job.status, startTime: formatTime(nowMs) } }
    : job;
}

function statusOf(
  job: ReadJob,
  facts: Facts,
  managed: Managed,
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
function withCounted(job: ReadJob, released: ReadonlySet<string>, { indexes }: Facts): ReadJob {
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
function withEnd(
  job: ReadJob,
  facts: Facts,
  managed: Managed,
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

function nextTime(
  job: ReadJob,
  { againInMs }: Managed,
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
