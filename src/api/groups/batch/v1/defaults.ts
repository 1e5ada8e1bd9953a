// Defaults of batch/v1. See core/v1/defaults.ts for the rules of defaulters.

import type { Defaulters } from '#api/machinery/scheme.ts';
import { setPodTemplateDefaults } from '#api/groups/core/v1/defaults.ts';
import type { CronJob, Job, JobSpec } from './types.ts';

const BACKOFF_LIMIT = 6;
const MAX_INT32 = 2 ** 31 - 1;

function setJobDefaults({ metadata, spec }: Job): void {
  setJobTemplateDefaults(spec);
  // The job gets the same map object as its template. Labels that the strategy generates for the
  // template are therefore labels of the job, too.
  const { labels } = spec.template.metadata;
  if (labels !== undefined && Object.keys(metadata.labels ?? {}).length === 0)
    metadata.labels = labels;
  // By default one pod must succeed. With parallelism alone, any successful pod completes the job.
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? BACKOFF_LIMIT : MAX_INT32;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.podReplacementPolicy ??=
    spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  spec.manualSelector ??= false;
}

function setCronJobDefaults({ spec }: CronJob): void {
  setJobTemplateDefaults(spec.jobTemplate.spec);
  spec.concurrencyPolicy ??= 'Allow';
  spec.suspend ??= false;
  spec.successfulJobsHistoryLimit ??= 3;
  spec.failedJobsHistoryLimit ??= 1;
}

/**
 * Sets the defaults of a job's spec that also apply in a template. The others are set when a job is
 * created from it.
 */
function setJobTemplateDefaults({ template, podFailurePolicy }: JobSpec): void {
  setPodTemplateDefaults(template);
  for (const { onPodConditions } of podFailurePolicy?.rules ?? []) {
    for (const pattern of onPodConditions ?? []) if (pattern.status === '') pattern.status = 'True';
  }
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  CronJob: setCronJobDefaults,
  Job: setJobDefaults,
};
