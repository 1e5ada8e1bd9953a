// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const resourceSlices: ResourceType<types.ResourceSlice> = {
  group: 'resource.k8s.io',
  version: 'v1beta2',
  resource: 'resourceslices',
  singular: 'resourceslice',
  kind: 'ResourceSlice',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const resourceClaims: ResourceType<types.ResourceClaim> = {
  group: 'resource.k8s.io',
  version: 'v1beta2',
  resource: 'resourceclaims',
  singular: 'resourceclaim',
  kind: 'ResourceClaim',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: ['status'],
};

export const deviceClasses: ResourceType<types.DeviceClass> = {
  group: 'resource.k8s.io',
  version: 'v1beta2',
  resource: 'deviceclasses',
  singular: 'deviceclass',
  kind: 'DeviceClass',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const resourceClaimTemplates: ResourceType<types.ResourceClaimTemplate> = {
  group: 'resource.k8s.io',
  version: 'v1beta2',
  resource: 'resourceclaimtemplates',
  singular: 'resourceclaimtemplate',
  kind: 'ResourceClaimTemplate',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
};
