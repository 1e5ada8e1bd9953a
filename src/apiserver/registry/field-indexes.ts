// The indexes of one resource by fields that selectors may name. Which fields have one is declared with the selectable fields
// (selectable-fields.ts). Fields that are in the storage key need none: metadata.namespace and metadata.name (listing.ts).
//
// An index sees the served form. Its values are computed while the storage writes, which cannot wait for a conversion. So a state in
// another version than the served one is listed under every value, and the list leaves it out after its conversion if it does not match:
// until such states are written again (by the storage version migrator, say) they cost each list a conversion. A store that serves another
// version than it writes has no index: all states would be of that sort.

import type { KeyValue, Storage, StorageIndex } from '#storage/interface.ts';
import type { ObjectCache } from './object-cache.ts';
import type { SelectableFields } from './selectable-fields.ts';
import type { Selection } from './selection.ts';

export interface FieldIndexesConfig {
  readonly storage: Storage;
  readonly cache: ObjectCache;
  readonly prefix: string;
  readonly selectableFields: SelectableFields;
}

interface FieldIndex {
  readonly field: string;
  readonly index: StorageIndex;
}

export class FieldIndexes {
  readonly #indexes: readonly FieldIndex[];

  constructor(config: FieldIndexesConfig) {
    const { storage, cache, prefix, selectableFields } = config;
    const indexed = cache.storesServedVersion ? selectableFields.indexed : [];
    this.#indexes = indexed.map((field) => ({
      field,
      index: storage.addIndex({
        prefix,
        valueOf: (kv) => valueOf(cache, kv, selectableFields, field),
      }),
    }));
  }

  /** The index that has what the selection may leave, with the value to list. Undefined: there is none. */
  listing(
    selection: Selection,
  ): { readonly index: StorageIndex; readonly value: string } | undefined {
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

/** The value of a state in an index. Throws for a state in another version, so that it is listed under every value (IndexDefinition). */
function valueOf(
  cache: ObjectCache,
  kv: KeyValue,
  selectableFields: SelectableFields,
  field: string,
): string {
  const object = cache.readServedVersion(kv);
  if (object === undefined) throw new Error(`${kv.key} is stored in another version`);
  return selectableFields.valueOf(object, field);
}
