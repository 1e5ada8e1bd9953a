// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const resourceSlices: ResourceType<types.ResourceSlice> = resourceType(schema, 'ResourceSlice');
export const resourceClaims: ResourceType<types.ResourceClaim> = resourceType(schema, 'ResourceClaim');
export const deviceClasses: ResourceType<types.DeviceClass> = resourceType(schema, 'DeviceClass');
export const resourceClaimTemplates: ResourceType<types.ResourceClaimTemplate> = resourceType(schema, 'ResourceClaimTemplate');
