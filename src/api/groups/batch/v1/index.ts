// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const jobs: ResourceType<types.Job> = {
  group: 'batch',
  version: 'v1',
  resource: 'jobs',
  singular: 'job',
  kind: 'Job',
  namespaced: true,
  shortNames: [],
  categories: ['all'],
  subresources: ['status'],
};

export const cronJobs: ResourceType<types.CronJob> = {
  group: 'batch',
  version: 'v1',
  resource: 'cronjobs',
  singular: 'cronjob',
  kind: 'CronJob',
  namespaced: true,
  shortNames: ['cj'],
  categories: ['all'],
  subresources: ['status'],
};
