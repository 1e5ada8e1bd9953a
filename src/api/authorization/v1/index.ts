// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const subjectAccessReviews: ResourceType<types.SubjectAccessReview> = resourceType(schema, 'SubjectAccessReview');
export const selfSubjectAccessReviews: ResourceType<types.SelfSubjectAccessReview> = resourceType(
  schema,
  'SelfSubjectAccessReview',
);
export const localSubjectAccessReviews: ResourceType<types.LocalSubjectAccessReview> = resourceType(
  schema,
  'LocalSubjectAccessReview',
);
export const selfSubjectRulesReviews: ResourceType<types.SelfSubjectRulesReview> = resourceType(schema, 'SelfSubjectRulesReview');
