// Where faults of the store are injected: a storage around another one whose writes may fail. Reads and watches are
// the inner store's.

import type {
  DecodedValues,
  GetOptions,
  IndexDefinition,
  KeyValue,
  ListOptions,
  ListResult,
  Revision,
  Storage,
  StorageBeats,
  StorageEvent,
  StorageIndex,
  StorageNow,
  UpdateDecision,
  UpdateResult,
  WatchOptions,
} from '#storage/interface.ts';
import type { WatchStream } from '#machinery/watch.ts';

/** The failure of a write. */
export interface StorageFate {
  /** The write is made before it fails: its outcome is unknown to the caller. */
  readonly written: boolean;
  readonly error: Error;
}

/** Decides about a write of a key, and waits as long as it is to take. Undefined: the write is made as usual. */
export type StorageRule = (
  key: string,
) => StorageFate | undefined | Promise<StorageFate | undefined>;

export class FaultyStorage implements Storage {
  readonly #storage: Storage;
  readonly #rules = new Set<StorageRule>();
  readonly now?: StorageNow;
  readonly requestProgress?: () => void;
  readonly sizeBytes?: () => Promise<number>;
  readonly beats?: StorageBeats;
  readonly decoded?: DecodedValues;

  constructor(storage: Storage) {
    this.#storage = storage;
    const { now, requestProgress, sizeBytes, beats, decoded } = storage;
    if (decoded !== undefined) this.decoded = decoded;
    if (beats !== undefined) this.beats = beats;
    if (now !== undefined) this.now = now;
    if (requestProgress !== undefined) this.requestProgress = () => requestProgress.call(storage);
    if (sizeBytes !== undefined) this.sizeBytes = () => sizeBytes.call(storage);
  }

  /** Returns a function that removes the rule again. */
  add(rule: StorageRule): () => void {
    this.#rules.add(rule);
    return () => this.#rules.delete(rule);
  }

  create(key: string, value: Uint8Array, options?: { readonly ttlMs?: number }): Promise<KeyValue> {
    const write = (): Promise<KeyValue> => this.#storage.create(key, value, options);
    return this.#rules.size === 0 ? write() : this.#write(key, write);
  }

  delete(
    key: string,
    options?: { readonly expectedRevision?: Revision },
  ): Promise<{ readonly previous: KeyValue; readonly revision: Revision }> {
    const write = (): Promise<{ readonly previous: KeyValue; readonly revision: Revision }> =>
      this.#storage.delete(key, options);
    return this.#rules.size === 0 ? write() : this.#write(key, write);
  }

  async guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options?: { readonly guess?: KeyValue },
  ): Promise<UpdateResult> {
    if (this.#rules.size === 0) return this.#storage.guaranteedUpdate(key, update, options);
    // Only a decision to write can fail. The engine may ask several times; the fault happens once.
    let fate: StorageFate | undefined;
    let decided = false;
    const result = await this.#storage.guaranteedUpdate(
      key,
      async (current) => {
        const decision = await update(current);
        if (decision.action === 'keep') return decision;
        if (!decided) {
          decided = true;
          fate = await this.#fateOf(key);
        }
        if (fate !== undefined && !fate.written) throw fate.error;
        return decision;
      },
      options,
    );
    if (fate !== undefined) throw fate.error;
    return result;
  }

  get(key: string, options?: GetOptions): Promise<KeyValue | undefined> {
    return this.#storage.get(key, options);
  }

  list(prefix: string, options?: ListOptions): Promise<ListResult> {
    return this.#storage.list(prefix, options);
  }

  addIndex(definition: IndexDefinition): StorageIndex {
    return this.#storage.addIndex(definition);
  }

  count(prefix: string): Promise<number> {
    return this.#storage.count(prefix);
  }

  watch(prefix: string, options?: WatchOptions): WatchStream<StorageEvent> {
    return this.#storage.watch(prefix, options);
  }

  compact(revision: Revision): Promise<void> {
    return this.#storage.compact(revision);
  }

  currentRevision(): Promise<Revision> {
    return this.#storage.currentRevision();
  }

  health(): Promise<void> {
    return this.#storage.health();
  }

  close(): Promise<void> {
    return this.#storage.close();
  }

  async #write<T>(key: string, write: () => Promise<T>): Promise<T> {
    const fate = await this.#fateOf(key);
    if (fate === undefined) return write();
    if (fate.written) await write();
    throw fate.error;
  }

  async #fateOf(key: string): Promise<StorageFate | undefined> {
    for (const rule of this.#rules) {
      const fate = await rule(key);
      if (fate !== undefined) return fate;
    }
    return undefined;
  }
}
