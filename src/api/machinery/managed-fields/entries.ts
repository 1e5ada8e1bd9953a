// The entries of an object's managedFields.

import type { ManagedFieldsEntry } from './managers.ts';

/** An API object, as far as field management uses it. */
export interface ManagedObject {
  readonly metadata: object;
}

interface Metadata {
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** Returns who owns which fields of the object. */
export function entriesOf(
  object: ManagedObject | undefined,
): readonly ManagedFieldsEntry[] | undefined {
  const metadata: Metadata | undefined = object?.metadata;
  return metadata?.managedFields;
}

/** Returns the object without its entries. */
export function unmanaged(object: ManagedObject): ManagedObject {
  const metadata = object.metadata as Metadata;
  if (metadata.managedFields === undefined) return object;
  const { managedFields: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}

/** Returns the object with other entries. managedFields stay the last field of the metadata, as in the schema. */
export function withEntries<T extends ManagedObject>(
  object: T,
  entries: readonly ManagedFieldsEntry[] | undefined,
): T {
  const oldEntries = entriesOf(object);
  if (oldEntries === entries) return object;
  if (oldEntries === undefined) {
    // Copied first, then modified: an object literal with a spread and further members is several
    // times slower.
    const metadata: { managedFields?: readonly ManagedFieldsEntry[] } = { ...object.metadata };
    metadata.managedFields = entries;
    const copy: { metadata: object } = { ...object };
    copy.metadata = metadata;
    return copy as T;
  }
  const { managedFields: _, ...metadata } = object.metadata as Metadata;
  return {
    ...object,
    metadata: entries === undefined ? metadata : { ...metadata, managedFields: entries },
  };
}
