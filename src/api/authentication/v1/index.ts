// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const tokenReviews: ResourceType<types.TokenReview> = resourceType(schema, 'TokenReview');
export const selfSubjectReviews: ResourceType<types.SelfSubjectReview> = resourceType(schema, 'SelfSubjectReview');
