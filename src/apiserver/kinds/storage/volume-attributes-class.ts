// The resource volumeattributesclasses.

import type * as storage from '#api/groups/storage/v1/index.ts';
import { volumeAttributesClasses } from '#api/groups/storage/v1/index.ts';
import { validateVolumeAttributesClass, validateVolumeAttributesClassUpdate } from '#api/groups/storage/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { volumeAttributesClassTable } from '#apiserver/printers/volumes.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type VolumeAttributesClass = Immutable<storage.VolumeAttributesClass>;

export const volumeAttributesClassStrategy: ResourceStrategy<VolumeAttributesClass> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  validate: (attributesClass) => validateVolumeAttributesClass(attributesClass),
  validateUpdate: (attributesClass, old) => validateVolumeAttributesClassUpdate(attributesClass, old),
};

export function volumeAttributesClassResource(services: RegistryServices): Kind {
  return {
    type: volumeAttributesClasses,
    rest: new ResourceStore<VolumeAttributesClass>({
      ...services,
      type: volumeAttributesClasses,
      strategy: volumeAttributesClassStrategy,
    }),
    table: volumeAttributesClassTable,
  };
}
