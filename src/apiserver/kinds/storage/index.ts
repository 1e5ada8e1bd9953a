// The resources of the storage group.

import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { csiDriverResource } from './csi-driver.ts';
import { csiNodeResource } from './csi-node.ts';
import { csiStorageCapacityResource } from './csi-storage-capacity.ts';
import { storageClassResource } from './storage-class.ts';
import { volumeAttachmentResource } from './volume-attachment.ts';
import { volumeAttributesClassResource } from './volume-attributes-class.ts';

export function storageResources(services: RegistryServices): readonly Kind[] {
  return [
    csiDriverResource(services),
    csiNodeResource(services),
    csiStorageCapacityResource(services),
    storageClassResource(services),
    volumeAttachmentResource(services),
    volumeAttributesClassResource(services),
  ];
}
