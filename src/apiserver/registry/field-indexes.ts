// The indexes of one resource by selectable fields. The declaration of a field
// (selectable-fields.ts) says whether it has an index. Fields in the storage key need none:
// metadata.namespace and metadata.name (listing.ts).
//
// An index uses the served form of objects. Its values are computed during writes of the storage,
// which cannot wait for a conversion. So a state in another version than the served one is listed
// under every value. The list converts such states, and drops those that do not match. Until they
// are written again (by the storage version migrator, for example) they cost each list a
// conversion. A store that serves another version than it writes has no index, since that would
// apply to all states.

import { storedText } from '#api/machinery/codec/index.ts';
import { passingValueOf } from '#storage/value.ts';
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

  /**
   * Returns the index with all objects of the selection, and the value to list. Undefined: there is
   * no such index. `isWhole`: the selection has no other condition.
   */
  listing(
    selection: Selection,
  ):
    | { readonly index: StorageIndex; readonly value: string; readonly isWhole: boolean }
    | undefined {
    if (selection.everything) return undefined;
    for (const { field, index } of this.#indexes) {
      const value = selection.exact(field);
      if (value !== undefined) return { index, value, isWhole: selection.isOnlyExact(field) };
    }
    return undefined;
  }

  close(): void {
    for (const { index } of this.#indexes) index.close();
  }
}

/**
 * Returns the value of a state in an index. Throws for a state in another version, so that it is
 * listed under every value (IndexDefinition).
 */
function valueOf(
  cache: ObjectCache,
  kv: KeyValue,
  selectableFields: SelectableFields,
  field: string,
): string {
  const path = selectableFields.pathOf(field);
  // The object of a write is in memory. At the start of a server none is.
  if (path !== undefined && !cache.isDecoded(kv) && cache.isStoredVersion(kv))
    return storedText(passingValueOf(kv), path) ?? '';
  const object = cache.readServedVersion(kv);
  if (object === undefined) throw new Error(`${kv.key} is stored in another version`);
  return selectableFields.valueOf(object, field);
}
