// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Writes all objects of a resource again, so that they are stored in the current version and encryption. */
export interface StorageVersionMigration extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: StorageVersionMigrationSpec;
  /** The observed state. */
  status: StorageVersionMigrationStatus;
}

/** The resource. It cannot be changed. */
export interface StorageVersionMigrationSpec {
  /** The resource. */
  resource: meta.GroupResource;
}

export type MigrationConditionType = 'Running' | 'Succeeded' | 'Failed' | (string & {});

/** The state of a migration. */
export interface StorageVersionMigrationStatus {
  /** Running, Succeeded or Failed. */
  conditions?: meta.Condition[];
  /** The version up to which objects have to be written. */
  resourceVersion?: string;
}

/** A list of StorageVersionMigration objects. */
export interface StorageVersionMigrationList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: StorageVersionMigration[];
}
