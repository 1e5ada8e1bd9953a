// The indexes of one resource by fields that selectors may name. Which fields have one is declared with the selectable fields
// (api/field-labels.ts). Fields that are in the storage key need none: metadata.namespace and metadata.name (listing.ts).

import type { Storage, StorageIndex } from '#storage/interface.ts';
import type { ObjectCache } from './object-cache.ts';
import { fieldsOf, type SelectableFields, type Selection } from './selection.ts';

export interface FieldIndexesConfig {
  readonly storage: Storage;
  readonly cache: ObjectCache;
  readonly prefix: string;
  readonly selectableFields: SelectableFields | undefined;
  readonly indexedFields: readonly string[];
}

interface FieldIndex {
  readonly field: string;
  readonly index: StorageIndex;
}

export class FieldIndexes {
  readonly #indexes: readonly FieldIndex[];

  constructor(config: FieldIndexesConfig) {
    const { storage, cache, prefix, selectableFields, indexedFields } = config;
    this.#indexes = indexedFields.map((field) => ({
      field,
      index: storage.addIndex({ prefix, valueOf: (kv) => fieldsOf(cache.of(kv), selectableFields)[field] ?? '' }),
    }));
  }

  /** The index that has what the selection may leave, with the value to list. Undefined: there is none. */
  listing(selection: Selection): { readonly index: StorageIndex; readonly value: string } | undefined {
    if (selection.everything) return undefined;
    for (const { field, index } of this.#indexes) {
      const value = selection.exact(field);
      if (value !== undefined) return { index, value };
    }
    return undefined;
  }

  close(): void {
    for (const { index } of this.#indexes) index.close();
  }
}
