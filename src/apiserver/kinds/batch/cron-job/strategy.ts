// Cron jobs.

import type * as batch from '#api/groups/batch/v1/index.ts';
import { validateCronJob, validateCronJobUpdate } from '#api/groups/batch/v1/validation/index.ts';
import { jobSpecWarnings } from '#api/groups/batch/v1/warnings.ts';
import { resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import { withEnabledTemplateFields } from '#apiserver/kinds/pod-template.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

export type CronJob = Immutable<batch.CronJob>;

const JOB_SPEC = new field.FieldPath('spec', 'jobTemplate', 'spec');
/** Kubernetes' words; the path in them is its mistake. */
const ZONE_WARNING =
  'CRON_TZ or TZ used in spec.spec.schedule is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details';

const zoneWarnings = ({ spec }: CronJob): string[] => (spec.schedule.includes('TZ') ? [ZONE_WARNING] : []);

function withEnabledJobFields(cronJob: CronJob, old?: CronJob): CronJob {
  const { jobTemplate } = cronJob.spec;
  const enabled = withEnabledTemplateFields(jobTemplate, old?.spec.jobTemplate);
  return enabled === jobTemplate ? cronJob : { ...cronJob, spec: { ...cronJob.spec, jobTemplate: enabled } };
}

export const cronJobStrategy: ResourceStrategy<CronJob> = {
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
    ...(cronJob.metadata.generation === old.metadata.generation ? [] : jobSpecWarnings(cronJob.spec.jobTemplate.spec, JOB_SPEC)),
    ...zoneWarnings(cronJob),
  ],
};

export const cronJobStatusStrategy: SubresourceStrategy<CronJob> = {
  prepareForUpdate: (cronJob, old) => ({ ...cronJob, spec: old.spec }),
  validateUpdate: () => [],
};
