// The resource storageversionmigrations: a request to write all objects of a resource again, in the
// current storage version.

import { storageVersionMigrations } from '#api/groups/storagemigration/v1beta1/index.ts';
import type * as storagemigration from '#api/groups/storagemigration/v1beta1/index.ts';
import {
  validateStorageVersionMigration,
  validateStorageVersionMigrationStatusUpdate,
  validateStorageVersionMigrationUpdate,
} from '#api/groups/storagemigration/v1beta1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { withMetadataForStatus } from '#apiserver/registry/status-metadata.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type StorageVersionMigration = Immutable<storagemigration.StorageVersionMigration>;

const storageVersionMigrationStrategy: ResourceStrategy<StorageVersionMigration> = {
  allowUnconditionalUpdate: false,
  prepareForCreate: (migration) => ({ ...migration, status: {} }),
  prepareForUpdate: (migration, old) => ({ ...migration, status: old.status }),
  validate: (migration) => validateStorageVersionMigration(migration),
  validateUpdate: (migration, old) => validateStorageVersionMigrationUpdate(migration, old),
};

const storageVersionMigrationStatusStrategy: SubresourceStrategy<StorageVersionMigration> = {
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (migration, old) => ({
    ...withMetadataForStatus(migration, old),
    spec: old.spec,
  }),
  validateUpdate: (migration, old) => validateStorageVersionMigrationStatusUpdate(migration, old),
};

/** The conditions that show the progress. */
const STATES: ReadonlySet<string> = new Set(['Running', 'Succeeded', 'Failed']);

const storageVersionMigrationTable: TableConvertor<StorageVersionMigration> = {
  columns: [
    NAME,
    column('Resource', 'The resource whose objects are migrated.'),
    column('Status', 'The state: Running, Succeeded, Failed, or Unknown before the start.'),
  ],
  cells: ({ metadata, spec, status }) => [
    metadata.name,
    spec.resource.group === ''
      ? spec.resource.resource
      : `${spec.resource.resource}.${spec.resource.group}`,
    (status.conditions ?? []).findLast(
      (condition) => condition.status === 'True' && STATES.has(condition.type),
    )?.type ?? 'Unknown',
  ],
};

export const storageVersionMigrationKind = defineKind<StorageVersionMigration>({
  type: storageVersionMigrations,
  strategy: storageVersionMigrationStrategy,
  table: storageVersionMigrationTable,
  subresources: { status: { strategy: storageVersionMigrationStatusStrategy } },
});
