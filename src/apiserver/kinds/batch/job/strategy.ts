// Jobs.

import type * as batch from '#api/groups/batch/v1/index.ts';
import { validateJob, validateJobStatusUpdate, validateJobUpdate } from '#api/groups/batch/v1/validation/index.ts';
import { jobSpecWarnings } from '#api/groups/batch/v1/warnings.ts';
import { resourceNameWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import { withEnabledTemplateFields } from '#apiserver/kinds/pod-template.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { withGeneratedSelector, withTemplateLabels } from './pod-labels.ts';

export type Job = Immutable<batch.Job>;

const SPEC = new field.FieldPath('spec');

export const jobStrategy: ResourceStrategy<Job> = {
  generation: true,
  checksNameOnUpdate: true,
  // Before there was a choice, its pods outlived it.
  defaultGarbageCollection: 'orphan',
  prepareForCreate: (job) => withTemplateLabels(withGeneratedSelector(withEnabledTemplateFields({ ...job, status: {} }))),
  validate: (job) => validateJob(job),
  warningsOnCreate: ({ metadata, spec }) => [...resourceNameWarnings(metadata.name), ...jobSpecWarnings(spec, SPEC)],
  prepareForUpdate: (job, old) => withTemplateLabels(withEnabledTemplateFields({ ...job, status: old.status }, old)),
  validateUpdate: (job, old) => validateJobUpdate(job, old),
  warningsOnUpdate: ({ metadata, spec }, old) =>
    metadata.generation === old.metadata.generation ? [] : jobSpecWarnings(spec, SPEC),
  selectableFieldNames: ['status.successful'],
  selectableFields: (job) => ({ 'status.successful': String(job.status.succeeded ?? 0) }),
};

export const jobStatusStrategy: SubresourceStrategy<Job> = {
  prepareForUpdate: (job, old) => withTemplateLabels({ ...job, spec: old.spec }),
  validateUpdate: (job, old) => validateJobStatusUpdate(job, old),
};
