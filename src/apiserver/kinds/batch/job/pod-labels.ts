// The labels and the selector by which a job selects its pods. The server generates them unless the
// user sets manualSelector.

import type * as batch from '#api/groups/batch/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  CONTROLLER_UID_LABEL,
  JOB_NAME_LABEL,
  LEGACY_CONTROLLER_UID_LABEL,
  LEGACY_JOB_NAME_LABEL,
} from '#api/groups/batch/v1/labels.ts';
import { mergedMap } from '#machinery/collections/string-map.ts';

type Job = Immutable<batch.Job>;

/**
 * Returns the job with unique labels and selector. The user's values stay; validation rejects
 * contradictory ones.
 */
export function withGeneratedSelector(job: Job): Job {
  if (job.spec.manualSelector === true) return job;
  const { uid } = job.metadata;
  // Validation rejects a missing name later.
  const name = (job.metadata as { readonly name?: string }).name ?? '';
  const { template, selector } = job.spec;
  const own = {
    [LEGACY_JOB_NAME_LABEL]: name,
    [JOB_NAME_LABEL]: name,
    [LEGACY_CONTROLLER_UID_LABEL]: uid,
    [CONTROLLER_UID_LABEL]: uid,
  };
  const labels = mergedMap(own, template.metadata.labels);
  const matchLabels = mergedMap({ [CONTROLLER_UID_LABEL]: uid }, selector?.matchLabels);
  // Defaults have given the job the labels of its template.
  const shared = job.metadata.labels === template.metadata.labels;
  return {
    ...job,
    ...(shared && { metadata: { ...job.metadata, labels } }),
    spec: {
      ...job.spec,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

/**
 * Returns the job with the labels of its template if it has none. This also applies to stored jobs.
 */
export function withTemplateLabels(job: Job): Job {
  const { labels } = job.spec.template.metadata;
  if (labels === undefined || Object.keys(job.metadata.labels ?? {}).length > 0) return job;
  return { ...job, metadata: { ...job.metadata, labels } };
}
