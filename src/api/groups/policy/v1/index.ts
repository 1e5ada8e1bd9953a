// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const podDisruptionBudgets: ResourceType<types.PodDisruptionBudget> = {
  group: 'policy',
  version: 'v1',
  resource: 'poddisruptionbudgets',
  singular: 'poddisruptionbudget',
  kind: 'PodDisruptionBudget',
  namespaced: true,
  shortNames: ['pdb'],
  categories: [],
  subresources: ['status'],
};
