// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const apiServices: ResourceType<types.APIService> = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  resource: 'apiservices',
  singular: 'apiservice',
  kind: 'APIService',
  namespaced: false,
  shortNames: [],
  categories: ['api-extensions'],
  subresources: ['status'],
};
