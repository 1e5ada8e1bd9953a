// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const tokenReviews: ResourceType<types.TokenReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  resource: 'tokenreviews',
  singular: 'tokenreview',
  kind: 'TokenReview',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['create'],
};

export const selfSubjectReviews: ResourceType<types.SelfSubjectReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  resource: 'selfsubjectreviews',
  singular: 'selfsubjectreview',
  kind: 'SelfSubjectReview',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['create'],
};
