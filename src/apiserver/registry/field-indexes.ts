// The indexes of one resource by fields that selectors may name. Which fields have one is declared with the selectable fields
// (api/field-labels.ts); metadata.name has one where objects have namespaces, for lists of all namespaces. A field needs none where the
// storage key begins with it: metadata.namespace, and metadata.name within a namespace.

import type { KeyValue, Storage, StorageIndex } from '../../storage/interface.ts';
import type { ObjectCache } from './object-cache.ts';
import { fieldsOf, type SelectableFields, type Selection } from './selection.ts';

export interface FieldIndexesConfig {
  readonly storage: Storage;
  readonly cache: ObjectCache;
  readonly prefix: string;
  readonly namespaced: boolean;
  readonly selectableFields: SelectableFields | undefined;
  readonly indexedFields: readonly string[];
}

interface FieldIndex {
  readonly field: string;
  readonly index: StorageIndex;
}

export class FieldIndexes {
  /** The most selective first. */
  readonly #indexes: readonly FieldIndex[];

  constructor(config: FieldIndexesConfig) {
    const { storage, cache, prefix, namespaced, selectableFields, indexedFields } = config;
    const add = (field: string, valueOf: (kv: KeyValue) => string): FieldIndex => ({
      field,
      index: storage.addIndex({ prefix, valueOf }),
    });
    // The name is the end of the key: nothing has to be decoded.
    const names = namespaced ? [add('metadata.name', ({ key }) => key.slice(key.lastIndexOf('/') + 1))] : [];
    const others = indexedFields.map((field) => add(field, (kv) => fieldsOf(cache.of(kv), selectableFields)[field] ?? ''));
    this.#indexes = [...names, ...others];
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
