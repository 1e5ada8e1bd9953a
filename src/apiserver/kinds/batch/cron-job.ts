// The resource cronjobs.

import { cronJobs } from '#api/groups/batch/v1/index.ts';
import type * as batch from '#api/groups/batch/v1/index.ts';
import { validateCronJob, validateCronJobUpdate } from '#api/groups/batch/v1/validation/index.ts';
import { jobSpecWarnings } from '#api/groups/batch/v1/warnings.ts';
import { resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabelSelector } from '#machinery/selectors/labels.ts';
import * as field from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import {
  AGE,
  CONTAINERS,
  NAME,
  SELECTOR,
  column,
  containerCells,
} from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { withEnabledTemplateFields } from '../pod-template.ts';

type CronJob = Immutable<batch.CronJob>;

const JOB_SPEC = new field.FieldPath('spec', 'jobTemplate', 'spec');
/** Kubernetes' text, including the mistake in the path. */
const ZONE_WARNING =
  'CRON_TZ or TZ used in spec.spec.schedule is not officially supported, see ' +
  'https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details';

const zoneWarnings = ({ spec }: CronJob): string[] =>
  spec.schedule.includes('TZ') ? [ZONE_WARNING] : [];

function withEnabledJobFields(cronJob: CronJob, old?: CronJob): CronJob {
  const { jobTemplate } = cronJob.spec;
  const enabled = withEnabledTemplateFields(jobTemplate, old?.spec.jobTemplate);
  return enabled === jobTemplate
    ? cronJob
    : { ...cronJob, spec: { ...cronJob.spec, jobTemplate: enabled } };
}

const cronJobStrategy: ResourceStrategy<CronJob> = {
  generation: true,
  prepareForCreate: (cronJob) => withEnabledJobFields({ ...cronJob, status: {} }),
  validate: (cronJob) => validateCronJob(cronJob),
  warningsOnCreate: (cronJob) => [
    ...resourceNameWarnings(cronJob.metadata.name),
    ...jobSpecWarnings(cronJob.spec.jobTemplate.spec, JOB_SPEC),
    ...zoneWarnings(cronJob),
  ],
  prepareForUpdate: (cronJob, old) => withEnabledJobFields({ ...cronJob, status: old.status }, old),
  validateUpdate: (cronJob, old) => validateCronJobUpdate(cronJob, old),
  warningsOnUpdate: (cronJob, old) => [
    ...(cronJob.metadata.generation === old.metadata.generation
      ? []
      : jobSpecWarnings(cronJob.spec.jobTemplate.spec, JOB_SPEC)),
    ...zoneWarnings(cronJob),
  ],
};

const cronJobStatusStrategy: SubresourceStrategy<CronJob> = {
  prepareForUpdate: (cronJob, old) => ({ ...cronJob, spec: old.spec }),
  validateUpdate: () => [],
};

export const cronJobTable: TableConvertor<CronJob> = {
  columns: [
    NAME,
    column('Schedule', 'The schedule in cron format.'),
    column('Timezone', 'The time zone of the schedule.'),
    column('Suspend', 'Whether the creation of jobs is suspended.', { type: 'boolean' }),
    column('Active', 'Number of running jobs.', { type: 'integer' }),
    column('Last Schedule', 'Time since the last job was created.'),
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

export const cronJobKind = defineKind<CronJob>({
  type: cronJobs,
  strategy: cronJobStrategy,
  table: cronJobTable,
  subresources: { status: { strategy: cronJobStatusStrategy } },
});
