// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const endpointSlices: ResourceType<types.EndpointSlice> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  resource: 'endpointslices',
  singular: 'endpointslice',
  kind: 'EndpointSlice',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
};
