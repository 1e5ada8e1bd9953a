// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const priorityClasses: ResourceType<types.PriorityClass> = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  resource: 'priorityclasses',
  singular: 'priorityclass',
  kind: 'PriorityClass',
  namespaced: false,
  shortNames: ['pc'],
  categories: [],
  subresources: [],
};
