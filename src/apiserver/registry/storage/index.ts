// The resources of the storage group.

import type { ServedResource } from '../rest.ts';
import type { RegistryServices } from '../services.ts';
import { csiDriverResource } from './csi-driver/index.ts';
import { csiNodeResource } from './csi-node/index.ts';
import { csiStorageCapacityResource } from './csi-storage-capacity/index.ts';
import { storageClassResource } from './storage-class/index.ts';
import { volumeAttachmentResource } from './volume-attachment/index.ts';
import { volumeAttributesClassResource } from './volume-attributes-class/index.ts';

export function storageResources(services: RegistryServices): readonly ServedResource[] {
  return [
    csiDriverResource(services),
    csiNodeResource(services),
    csiStorageCapacityResource(services),
    storageClassResource(services),
    volumeAttachmentResource(services),
    volumeAttributesClassResource(services),
  ];
}
