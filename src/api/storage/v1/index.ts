// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '../../descriptor.ts';
import { resourceType } from '../../schema/resource-type.ts';
import { schema } from './schema.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const storageClasses: ResourceType<types.StorageClass> = resourceType(schema, 'StorageClass');
export const volumeAttachments: ResourceType<types.VolumeAttachment> = resourceType(schema, 'VolumeAttachment');
export const csiDrivers: ResourceType<types.CSIDriver> = resourceType(schema, 'CSIDriver');
export const csiNodes: ResourceType<types.CSINode> = resourceType(schema, 'CSINode');
export const csiStorageCapacities: ResourceType<types.CSIStorageCapacity> = resourceType(schema, 'CSIStorageCapacity');
export const volumeAttributesClasses: ResourceType<types.VolumeAttributesClass> = resourceType(schema, 'VolumeAttributesClass');
