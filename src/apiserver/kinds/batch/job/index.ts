// The resource jobs.

import { jobs } from '#api/groups/batch/v1/index.ts';
import type * as batch from '#api/groups/batch/v1/index.ts';
import { hasCondition } from '#api/groups/batch/v1/job-conditions.ts';
import {
  validateJob,
  validateJobStatusUpdate,
  validateJobUpdate,
} from '#api/groups/batch/v1/validation/index.ts';
import { jobSpecWarnings } from '#api/groups/batch/v1/warnings.ts';
import { resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatLabelSelector } from '#machinery/selectors/labels.ts';
import { humanDuration } from '#machinery/text/duration.ts';
import * as field from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { withEnabledTemplateFields } from '#apiserver/kinds/pod-template.ts';
import { quote } from '#machinery/text/go-format.ts';
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
import { withGeneratedSelector, withTemplateLabels } from './pod-labels.ts';

export type Job = Immutable<batch.Job>;

const SPEC = new field.FieldPath('spec');

const PODS_ARE_PRESERVED =
  'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background ' +
  'to remove them or set propagationPolicy=Orphan to suppress this warning';

const jobStrategy: ResourceStrategy<Job> = {
  generation: true,
  checksNameOnUpdate: true,
  // The default of this API version keeps a job's pods, as upstream.
  defaultGarbageCollection: 'orphan',
  warningsOnDelete: ({ propagationPolicy, orphanDependents }) =>
    propagationPolicy === undefined && orphanDependents === undefined ? [PODS_ARE_PRESERVED] : [],
  prepareForCreate: (job) =>
    withTemplateLabels(withGeneratedSelector(withEnabledTemplateFields({ ...job, status: {} }))),
  validate: (job) => validateJob(job),
  warningsOnCreate: ({ metadata, spec }) => [
    ...resourceNameWarnings(metadata.name),
    ...jobSpecWarnings(spec, SPEC),
  ],
  prepareForUpdate: (job, old) =>
    withTemplateLabels(withEnabledTemplateFields({ ...job, status: old.status }, old)),
  validateUpdate: (job, old) => validateJobUpdate(job, old),
  warningsOnUpdate: ({ metadata, spec }, old) =>
    metadata.generation === old.metadata.generation ? [] : jobSpecWarnings(spec, SPEC),
};

const jobStatusStrategy: SubresourceStrategy<Job> = {
  prepareForUpdate: (job, old) => withTemplateLabels({ ...job, spec: old.spec }),
  validateUpdate: (job, old) => validateJobStatusUpdate(job, old),
};

export const jobTable: TableConvertor<Job> = {
  columns: [
    NAME,
    column('Status', 'The current state.'),
    column('Completions', 'Number of successful pods, and the required number.'),
    column('Duration', 'The time that the job took, or has been running.'),
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
  if (hasCondition(status, 'FailureTarget')) return 'FailureTarget';
  return hasCondition(status, 'SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running';
}

/**
 * Returns the cell of completions. A job without a number of completions is complete when one pod
 * has succeeded.
 */
function completionsOf({ spec, status }: Job): string {
  const { completions, parallelism = 0 } = spec;
  const succeeded = status.succeeded ?? 0;
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationOf({ status }: Job, now: number): string {
  const { startTime, completionTime } = status;
  if (startTime === undefined) return '';
  return humanDuration(
    (completionTime === undefined ? now : Date.parse(completionTime)) - Date.parse(startTime),
  );
}

export const jobKind = defineKind<Job>({
  type: jobs,
  strategy: jobStrategy,
  selectableFields: { 'status.successful': ({ status }) => String(status.succeeded ?? 0) },
  unsupportedField: (label) => `field label ${quote(label)} not supported for Job`,
  table: jobTable,
  subresources: { status: { strategy: jobStatusStrategy } },
});
