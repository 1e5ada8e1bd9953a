// The tables of jobs and cron jobs.

import type * as batch from '#api/groups/batch/v1/index.ts';
import { hasCondition } from '#api/groups/batch/v1/job-conditions.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { humanDuration } from '#machinery/text/duration.ts';
import { formatLabelSelector } from '#machinery/selectors/labels.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, CONTAINERS, containerCells, NAME, SELECTOR } from '../tables/columns.ts';

type Job = Immutable<batch.Job>;

export const jobTable: TableConvertor<Job> = {
  columns: [
    NAME,
    column('Status', 'How far it has come.'),
    column('Completions', 'Pods that have succeeded, of those that must.'),
    column('Duration', 'How long it took, or has been running.'),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  cells: (job, now) => [
    job.metadata.name,
    statusOf(job),
    completionsOf(job),
    durationOf(job, now),
    since(job.metadata.creationTimestamp, now),
    ...containerCells(job.spec.template.spec.containers),
    formatLabelSelector(job.spec.selector),
  ],
};

function statusOf({ metadata, status }: Job): string {
  if (hasCondition(status, 'Complete')) return 'Complete';
  if (hasCondition(status, 'Failed')) return 'Failed';
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (hasCondition(status, 'Suspended')) return 'Suspended';
  return hasCondition(status, 'FailureTarget') ? 'FailureTarget' : 'Running';
}

/** A job without a number of completions is done when one pod has succeeded. */
function completionsOf({ spec, status }: Job): string {
  const { completions, parallelism = 0 } = spec;
  const succeeded = status.succeeded ?? 0;
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationOf({ status }: Job, now: number): string {
  const { startTime, completionTime } = status;
  if (startTime === undefined) return '';
  return humanDuration((completionTime === undefined ? now : Date.parse(completionTime)) - Date.parse(startTime));
}

export const cronJobTable: TableConvertor<Immutable<batch.CronJob>> = {
  columns: [
    NAME,
    column('Schedule', 'When it makes jobs.'),
    column('Timezone', 'Where it is that time.'),
    column('Suspend', 'Whether it makes none for now.', { type: 'boolean' }),
    column('Active', 'Jobs that are running.', { type: 'integer' }),
    column('Last Schedule', 'Time since it last made a job.'),
    AGE,
    ...CONTAINERS,
    SELECTOR,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.schedule,
    spec.timeZone ?? '<none>',
    spec.suspend === undefined ? '<unset>' : spec.suspend ? 'True' : 'False',
    (status.active ?? []).length,
    status.lastScheduleTime === undefined ? '<none>' : since(status.lastScheduleTime, now),
    since(metadata.creationTimestamp, now),
    ...containerCells(spec.jobTemplate.spec.template.spec.containers),
    formatLabelSelector(spec.jobTemplate.spec.selector),
  ],
};
