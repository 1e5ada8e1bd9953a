// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const nodeMetrics: ResourceType<types.NodeMetrics> = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  resource: 'nodes',
  singular: '',
  kind: 'NodeMetrics',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['get', 'list'],
};

export const podMetrics: ResourceType<types.PodMetrics> = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  resource: 'pods',
  singular: '',
  kind: 'PodMetrics',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['get', 'list'],
};
