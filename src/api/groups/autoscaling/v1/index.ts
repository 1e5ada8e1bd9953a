// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const horizontalPodAutoscalers: ResourceType<types.HorizontalPodAutoscaler> = {
  group: 'autoscaling',
  version: 'v1',
  resource: 'horizontalpodautoscalers',
  singular: 'horizontalpodautoscaler',
  kind: 'HorizontalPodAutoscaler',
  namespaced: true,
  shortNames: ['hpa'],
  categories: ['all'],
  subresources: ['status'],
};
