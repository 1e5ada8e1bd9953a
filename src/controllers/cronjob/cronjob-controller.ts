// CronJobs: starts a job each time that the schedule is due, runs as many at once as the
// concurrency policy allows, and keeps as many finished jobs as the history limits allow.

import {
  type CronJob,
  cronJobs,
  type CronJobStatus,
  type Job,
  jobs,
} from '#api/groups/batch/v1/index.ts';
import { hasCondition, isFinished } from '#api/groups/batch/v1/job-conditions.ts';
import { type CronSchedule, parseSchedule } from '#api/groups/batch/v1/schedule.ts';
import { isTimeZone } from '#api/groups/batch/v1/time-zones.ts';
import type { ObjectReference } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder, EventType } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { formatTime, parseTime } from '#machinery/text/time.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { quote } from '#machinery/text/go-format.ts';
import { exponentialBuckets, type Histogram, Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isControlledBy, newControllerRef } from '../controller-ref.ts';
import type { Dependents } from '../dependents.ts';
import { OwnWrites } from '../own-writes.ts';
import { isNamespaceTerminating } from '../pod-control.ts';
import { missedTimes, nextTime } from './schedule-times.ts';

type ReadCronJob = Immutable<CronJob>;
type ReadJob = Immutable<Job>;

export interface CronJobControllerConfig extends ControllerConfig {
  /** Keys that are reconciled at once. Default: 5. */
  readonly workers?: number;
}

const COMPONENT = 'cronjob-controller';
const SCHEDULED_TIMESTAMP = 'batch.kubernetes.io/cronjob-scheduled-timestamp';
/** A due key is added this much later, so that the clock shows the due minute for certain. */
const LATE_MS = 100;

export class CronJobController implements Controller {
  readonly name = COMPONENT;
  readonly run: Controller['run'];
  readonly #config: CronJobControllerConfig;
  readonly #cronJobs: SharedInformer<ReadCronJob>;
  readonly #jobs: Dependents<CronJob, Job>;
  readonly #recorder: EventRecorder;
  readonly #writes: OwnWrites;
  readonly #skew: Histogram;

  constructor(config: CronJobControllerConfig) {
    const { clock, workers = 5 } = config;
    this.#config = config;
    const skew = {
      name: 'cronjob_controller_job_creation_skew_duration_seconds',
      help: 'From when a job was due to its creation.',
    };
    this.#skew = (config.instruments ?? new Instruments())
      .histogram(skew, exponentialBuckets(1, 2, 10))
      .with();
    const writes = new OwnWrites({ clock });
    this.#writes = writes;
    const builder = new ControllerBuilder(config, {
      queue: 'cronjob',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder(COMPONENT);
    this.#cronJobs = builder.for(cronJobs, { writes, predicate: { delete: false } });
    this.#jobs = builder.owns(jobs, { ownerType: cronJobs, owners: this.#cronJobs.lister, writes });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const cronJob = this.#cronJobs.lister.getByKey(key);
    if (cronJob === undefined) return reconciled;
    const behindMs = this.#writes.remainingMs(key);
    if (behindMs > 0) return requeueAfter(behindMs);
    try {
      return await this.#sync(key, cronJob, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error) || isNamespaceTerminating(error)) return reconciled;
      throw error;
    }
  }

  async #sync(key: string, cronJob: ReadCronJob, signal: AbortSignal): Promise<ReconcileResult> {
    const owned = this.#jobs.controlledBy(cronJob);
    await this.#cleanUp(cronJob, owned, signal);
    let current = await this.#report(
      key,
      cronJob,
      await this.#statusOf(cronJob, owned, signal),
      signal,
    );
    const { metadata, spec } = current;
    if (metadata.deletionTimestamp !== undefined || spec.suspend === true) return reconciled;
    const schedule = this.#scheduleOf(current);
    if (schedule === undefined) return reconciled;

    const nowMs = this.#config.clock.now();
    const due = this.#dueTime(current, schedule, nowMs);
    if (due !== undefined) current = await this.#start(key, current, due, nowMs, signal);
    const next = nextTime(schedule, nowMs, spec.timeZone);
    if (next === undefined) {
      // The schedule never fires, for example on 31 February.
      const why = 'time difference between two schedules is less than 1 second';
      this.#event(
        current,
        'Warning',
        'InvalidSchedule',
        `invalid schedule: ${spec.schedule} : ${why}`,
      );
      return reconciled;
    }
    return requeueAfter(next - nowMs + LATE_MS);
  }

  #event(cronJob: ReadCronJob, type: EventType, reason: string, message: string): void {
    const { metadata } = cronJob;
    this.#recorder.event(
      { apiVersion: 'batch/v1', kind: 'CronJob', metadata },
      type,
      reason,
      message,
    );
  }

  #scheduleOf(cronJob: ReadCronJob): CronSchedule | undefined {
    const { schedule, timeZone } = cronJob.spec;
    if (timeZone !== undefined && !isTimeZone(timeZone)) {
      this.#event(
        cronJob,
        'Warning',
        'UnknownTimeZone',
        `invalid timeZone: "${timeZone}": unknown time zone ${timeZone}`,
      );
      return undefined;
    }
    if (schedule.includes('TZ')) {
      const where = 'https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/';
      const message =
        `CRON_TZ or TZ used in schedule ${quote(schedule)} is not officially supported, see ` +
        `${where} for more details`;
      this.#event(cronJob, 'Warning', 'UnsupportedSchedule', message);
    }
    try {
      return parseSchedule(schedule);
    } catch (error) {
      this.#event(
        cronJob,
        'Warning',
        'UnparseableSchedule',
        `unparseable schedule: "${schedule}" : ${errorMessage(error)}`,
      );
      return undefined;
    }
  }

  /**
   * Returns the latest time that was due and for which no job was started; earlier times are given
   * up.
   */
  #dueTime(cronJob: ReadCronJob, schedule: CronSchedule, nowMs: number): number | undefined {
    const { metadata, spec, status } = cronJob;
    let from = parseTime(status.lastScheduleTime) ?? parseTime(metadata.creationTimestamp) ?? nowMs;
    const deadlineMs =
      spec.startingDeadlineSeconds === undefined ? undefined : spec.startingDeadlineSeconds * 1000;
    if (deadlineMs !== undefined) from = Math.max(from, nowMs - deadlineMs);
    const { last, many } = missedTimes(schedule, from, nowMs, spec.timeZone);
    if (last === undefined) return undefined;
    if (many) {
      const message =
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew';
      this.#event(cronJob, 'Warning', 'TooManyMissedTimes', message);
    }
    if (deadlineMs !== undefined && last + deadlineMs < nowMs) {
      this.#event(
        cronJob,
        'Warning',
        'MissSchedule',
        `Missed scheduled time to start a job: ${rfc1123(last)}`,
      );
      return undefined;
    }
    return last;
  }

  async #start(
    key: string,
    cronJob: ReadCronJob,
    due: number,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<ReadCronJob> {
    let { active = [] } = cronJob.status;
    const name = jobName(cronJob, due);
    if (active.some((reference) => reference.name === name)) return cronJob;
    if (cronJob.spec.concurrencyPolicy === 'Forbid' && active.length > 0) {
      const message =
        'Not starting job because prior execution is running and concurrency policy is Forbid';
      this.#event(cronJob, 'Normal', 'JobAlreadyActive', message);
      return cronJob;
    }
    if (cronJob.spec.concurrencyPolicy === 'Replace') {
      for (const reference of active)
        await this.#deleteJob(cronJob, reference.name ?? '', reference.uid, signal);
      active = [];
    }
    const job = await this.#createJob(key, cronJob, name, due, signal);
    const started = job === undefined ? active : [...active, referenceTo(job)];
    return this.#report(
      key,
      cronJob,
      { ...cronJob.status, active: started, lastScheduleTime: formatTime(due) },
      signal,
    );
  }

  /**
   * Creates the job of a due time. Returns undefined if the job exists but belongs to another
   * owner, or has finished.
   */
  async #createJob(
    key: string,
    cronJob: ReadCronJob,
    name: string,
    due: number,
    signal: AbortSignal,
  ): Promise<ReadJob | undefined> {
    const { namespace = '' } = cronJob.metadata;
    const inNamespace = this.#config.client.resource(jobs).namespace(namespace);
    try {
      const created = await inNamespace.create(jobFor(cronJob, name, due), { signal });
      this.#skew.observe(((parseTime(created.metadata.creationTimestamp) ?? due) - due) / 1000);
      this.#writes.wrote(key, created, this.#jobs.lister.getByKey(objectKey(created)));
      this.#event(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${name}`);
      return created;
    } catch (error) {
      if (apierrors.isAlreadyExists(error)) {
        // The job was created by this controller, which stopped before it recorded the job.
        const taken = await inNamespace.get(name, { signal });
        if (isControlledBy(taken, cronJob)) return isFinished(taken.status) ? undefined : taken;
      }
      if (!isNamespaceTerminating(error))
        this.#event(
          cronJob,
          'Warning',
          'FailedCreate',
          `Error creating job: ${errorMessage(error)}`,
        );
      throw error;
    }
  }

  /** Returns the active jobs, and the time of the last success. */
  async #statusOf(
    cronJob: ReadCronJob,
    owned: readonly ReadJob[],
    signal: AbortSignal,
  ): Promise<Immutable<CronJobStatus>> {
    const { status } = cronJob;
    const byUid = new Map(owned.map((job) => [job.metadata.uid, job]));
    const active: Immutable<ObjectReference>[] = [];
    for (const reference of status.active ?? []) {
      const job =
        byUid.get(reference.uid ?? '') ?? (await this.#liveJob(cronJob, reference, signal));
      if (job === undefined) {
        this.#event(cronJob, 'Normal', 'MissingJob', `Active job went missing: ${reference.name}`);
      } else if (isFinished(job.status)) {
        const condition = hasCondition(job.status, 'Complete') ? 'Complete' : 'Failed';
        this.#event(
          cronJob,
          'Normal',
          'SawCompletedJob',
          `Saw completed job: ${job.metadata.name}, condition: ${condition}`,
        );
      } else {
        active.push(reference);
      }
    }
    for (const job of owned) {
      const { uid, name } = job.metadata;
      if (
        isFinished(job.status) ||
        (status.active ?? []).some((reference) => reference.uid === uid)
      )
        continue;
      this.#event(
        cronJob,
        'Warning',
        'UnexpectedJob',
        `Saw a job that the controller did not create or forgot: ${name}`,
      );
    }
    const completed = owned.flatMap(({ status: { completionTime, conditions } }) =>
      completionTime !== undefined && hasCondition({ conditions }, 'Complete')
        ? [completionTime]
        : [],
    );
    const lastSuccessfulTime = [
      ...completed,
      ...(status.lastSuccessfulTime === undefined ? [] : [status.lastSuccessfulTime]),
    ]
      .sort()
      .at(-1);
    const { active: _, lastSuccessfulTime: __, ...rest } = status;
    return {
      ...rest,
      ...(active.length > 0 && { active }),
      ...(lastSuccessfulTime !== undefined && { lastSuccessfulTime }),
    };
  }

  async #liveJob(
    { metadata }: ReadCronJob,
    reference: Immutable<ObjectReference>,
    signal: AbortSignal,
  ): Promise<ReadJob | undefined> {
    try {
      const job = await this.#config.client
        .resource(jobs)
        .namespace(metadata.namespace ?? '')
        .get(reference.name ?? '', { signal });
      return job.metadata.uid === reference.uid ? job : undefined;
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Deletes finished jobs beyond the history limits, the oldest first. */
  async #cleanUp(
    cronJob: ReadCronJob,
    owned: readonly ReadJob[],
    signal: AbortSignal,
  ): Promise<void> {
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = cronJob.spec;
    for (const [type, limit] of [
      ['Complete', successfulJobsHistoryLimit],
      ['Failed', failedJobsHistoryLimit],
    ] as const) {
      if (limit === undefined) continue;
      const finished = owned.filter((job) => hasCondition(job.status, type)).toSorted(byStart);
      for (const { metadata } of finished.slice(0, Math.max(0, finished.length - limit))) {
        if (metadata.deletionTimestamp === undefined)
          await this.#deleteJob(cronJob, metadata.name, metadata.uid, signal);
      }
    }
  }

  async #deleteJob(
    cronJob: ReadCronJob,
    name: string,
    uid: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const inNamespace = this.#config.client
      .resource(jobs)
      .namespace(cronJob.metadata.namespace ?? '');
    try {
      const preconditions = uid === undefined ? {} : { uid };
      await inNamespace.delete(name, { preconditions, propagationPolicy: 'Background', signal });
    } catch (error) {
      if (apierrors.isNotFound(error) || apierrors.isConflict(error)) return;
      this.#event(cronJob, 'Warning', 'FailedDelete', `Deleted job: ${errorMessage(error)}`);
      throw error;
    }
    this.#event(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
  }

  async #report(
    key: string,
    cronJob: ReadCronJob,
    status: Immutable<CronJobStatus>,
    signal: AbortSignal,
  ): Promise<ReadCronJob> {
    if (semanticEqual(status, cronJob.status)) return cronJob;
    const updated = await this.#config.client
      .resource(cronJobs)
      .updateStatus({ ...cronJob, status }, { signal });
    this.#writes.wrote(key, updated, this.#cronJobs.lister.getByKey(key));
    return updated;
  }
}

/** Formats a time for events: RFC 1123 with a numeric zone. */
function rfc1123(ms: number): string {
  return new Date(ms).toUTCString().replace('GMT', '+0000');
}

/**
 * Returns the name of the job of a due time. The name is unique per minute, so that no time is
 * served twice.
 */
function jobName({ metadata }: ReadCronJob, due: number): string {
  return `${metadata.name}-${Math.floor(due / 60_000)}`;
}

function jobFor(cronJob: ReadCronJob, name: string, due: number): New<Job> {
  const { metadata, spec } = cronJob;
  const { jobTemplate } = spec;
  return {
    metadata: {
      name,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      ...(jobTemplate.metadata.labels !== undefined && { labels: jobTemplate.metadata.labels }),
      annotations: { ...jobTemplate.metadata.annotations, [SCHEDULED_TIMESTAMP]: formatTime(due) },
      ownerReferences: [newControllerRef(metadata, { apiVersion: 'batch/v1', kind: 'CronJob' })],
    },
    spec: jobTemplate.spec,
  };
}

function referenceTo({ metadata }: ReadJob): Immutable<ObjectReference> {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    kind: 'Job',
    apiVersion: 'batch/v1',
    name,
    uid,
    resourceVersion,
    ...(namespace !== undefined && { namespace }),
  };
}

function byStart(a: ReadJob, b: ReadJob): number {
  const [first, second] = [a, b].map(
    ({ status, metadata }) => status.startTime ?? metadata.creationTimestamp ?? '',
  ) as [string, string];
  return first < second ? -1 : first > second ? 1 : a.metadata.name < b.metadata.name ? -1 : 1;
}
