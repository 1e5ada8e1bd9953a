// Tables as the server writes them, with the metadata of each row's object.

import type { ListDocument } from './list-watch.ts';

/**
 * `metadata=identity` leaves out managed fields and the like. A server of Kubernetes that does not
 * know this parameter ignores it.
 */
export const TABLE_ACCEPT =
  'application/json;as=Table;v=v1;g=meta.k8s.io;metadata=identity, application/json';

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** 0: always shown. */
  readonly priority?: number;
}

export interface ObjectMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly subresource?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

export interface TableRow {
  readonly cells: readonly unknown[];
  readonly object?: { readonly metadata?: ObjectMetadata };
}

export interface TableDocument extends ListDocument {
  readonly columnDefinitions?: readonly TableColumn[] | null;
  readonly rows?: readonly TableRow[] | null;
}
