// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface StorageVersionMigration extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: StorageVersionMigrationSpec;
  status: StorageVersionMigrationStatus;
}

export interface StorageVersionMigrationSpec {
  resource: meta.GroupResource;
}

export type MigrationConditionType = 'Running' | 'Succeeded' | 'Failed' | (string & {});

export interface StorageVersionMigrationStatus {
  conditions?: meta.Condition[];
  resourceVersion?: string;
}

export interface StorageVersionMigrationList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: StorageVersionMigration[];
}
