// Warnings about jobs: valid values that are probably mistakes. See core/v1/warnings.ts.

import type { FieldPath } from '#machinery/validation/field.ts';
import { podTemplateWarnings } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { JobSpec } from './types.ts';

const MANY_COMPLETIONS = 100_000;
const MUCH_PARALLELISM = 10_000;
const TOO_MANY_INDEXES =
  'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher ' +
  'than 10^4, Kubernetes might not be able to track completedIndexes when a big number of ' +
  'indexes fail';

export function jobSpecWarnings(spec: Immutable<JobSpec>, at: FieldPath): string[] {
  const { completionMode, completions = 0, parallelism = 0, template } = spec;
  const many =
    completionMode === 'Indexed' &&
    completions > MANY_COMPLETIONS &&
    parallelism > MUCH_PARALLELISM;
  return [
    ...(many ? [`${at.toString()}: ${TOO_MANY_INDEXES}`] : []),
    ...podTemplateWarnings(template, at.child('template')),
  ];
}
