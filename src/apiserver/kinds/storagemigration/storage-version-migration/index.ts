// The resource storageversionmigrations: that all objects of a resource are to be written again, in the form of now.

import { storageVersionMigrations } from '#api/groups/storagemigration/v1beta1/index.ts';
import type * as storagemigration from '#api/groups/storagemigration/v1beta1/index.ts';
import {
  validateStorageVersionMigration,
  validateStorageVersionMigrationStatusUpdate,
  validateStorageVersionMigrationUpdate,
} from '#api/groups/storagemigration/v1beta1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { storageVersionMigrationTable } from '#apiserver/printers/small-kinds.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type StorageVersionMigration = Immutable<storagemigration.StorageVersionMigration>;

export const storageVersionMigrationStrategy: ResourceStrategy<StorageVersionMigration> = {
  allowUnconditionalUpdate: false,
  prepareForCreate: (migration) => ({ ...migration, status: {} }),
  prepareForUpdate: (migration, old) => ({ ...migration, status: old.status }),
  validate: (migration) => validateStorageVersionMigration(migration),
  validateUpdate: (migration, old) => validateStorageVersionMigrationUpdate(migration, old),
};

export const storageVersionMigrationStatusStrategy: SubresourceStrategy<StorageVersionMigration> = {
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (migration, old) => ({ ...withMetadataForStatus(migration, old), spec: old.spec }),
  validateUpdate: (migration, old) => validateStorageVersionMigrationStatusUpdate(migration, old),
};

export function storageVersionMigrationResource(services: RegistryServices): Kind {
  const { group, version, kind } = storageVersionMigrations;
  const store = new ResourceStore<StorageVersionMigration>({
    ...services,
    type: storageVersionMigrations,
    strategy: storageVersionMigrationStrategy,
  });
  return {
    type: storageVersionMigrations,
    rest: store,
    table: storageVersionMigrationTable,
    subresources: [{ name: 'status', kind: { group, version, kind }, rest: store.view(storageVersionMigrationStatusStrategy) }],
  };
}
