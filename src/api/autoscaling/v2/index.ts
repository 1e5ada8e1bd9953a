// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const horizontalPodAutoscalers: ResourceType<types.HorizontalPodAutoscaler> = resourceType(
  schema,
  'HorizontalPodAutoscaler',
);
