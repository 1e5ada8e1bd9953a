// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const subjectAccessReviews: ResourceType<types.SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'subjectaccessreviews',
  singular: 'subjectaccessreview',
  kind: 'SubjectAccessReview',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['create'],
};

export const selfSubjectAccessReviews: ResourceType<types.SelfSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['create'],
};

export const localSubjectAccessReviews: ResourceType<types.LocalSubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'localsubjectaccessreviews',
  singular: 'localsubjectaccessreview',
  kind: 'LocalSubjectAccessReview',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['create'],
};

export const selfSubjectRulesReviews: ResourceType<types.SelfSubjectRulesReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectrulesreviews',
  singular: 'selfsubjectrulesreview',
  kind: 'SelfSubjectRulesReview',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['create'],
};
