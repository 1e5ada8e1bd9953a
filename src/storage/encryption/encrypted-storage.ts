// Encryption at rest: a storage that encrypts its values and stores them in another storage, whose
// contract it keeps.
//
// A value that was written with an older key is stale. An update that leaves a stale value
// unchanged writes it again with the current key. So `kubectl get -o json … | kubectl replace -f -`
// rotates keys, as in Kubernetes.

import { errorMessage } from '#machinery/error-message.ts';
import type { WatchStream } from '#machinery/watch.ts';
import {
  type GetOptions,
  type IndexDefinition,
  type KeyValue,
  type ListOptions,
  type ListResult,
  type Revision,
  type Storage,
  StorageError,
  type StorageEvent,
  type StorageIndex,
  type UpdateDecision,
  type UpdateResult,
  type WatchOptions,
} from '../interface.ts';
import type { Transformer } from './transformer.ts';

export interface EncryptedStorageConfig {
  /** The storage of the encrypted values. Closing this storage closes it. */
  readonly storage: Storage;
  /** Returns the transformer for the values of a key. */
  readonly transformerFor: (key: string) => Transformer;
}

export class EncryptedStorage implements Storage {
  readonly #storage: Storage;
  readonly #transformerFor: (key: string) => Transformer;
  /**
   * Decrypted values by their encrypted ones, so that the same encrypted object yields the same
   * decrypted object.
   */
  readonly #opened = new WeakMap<KeyValue, KeyValue>();
  /** Decrypted values that the next update should write again. */
  readonly #stale = new WeakSet<KeyValue>();
  readonly requestProgress?: () => void;
  readonly sizeBytes?: () => Promise<number>;

  constructor(config: EncryptedStorageConfig) {
    this.#storage = config.storage;
    this.#transformerFor = config.transformerFor;
    const { storage } = config;
    if (storage.sizeBytes !== undefined) this.sizeBytes = () => storage.sizeBytes!();
    if (storage.requestProgress !== undefined)
      this.requestProgress = () => storage.requestProgress?.();
  }

  async get(key: string, options?: GetOptions): Promise<KeyValue | undefined> {
    const kv = await this.#storage.get(key, options);
    return kv && this.#open(kv);
  }

  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    const result = await this.#storage.list(prefix, options);
    return { ...result, items: result.items.map((kv) => this.#open(kv)) };
  }

  async create(
    key: string,
    value: Uint8Array,
    options?: { readonly ttlMs?: number },
  ): Promise<KeyValue> {
    return this.#written(await this.#storage.create(key, this.#seal(key, value), options), value);
  }

  async guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options: { readonly guess?: KeyValue } = {},
  ): Promise<UpdateResult> {
    const { guess } = options;
    let written: Uint8Array | undefined;
    const result = await this.#storage.guaranteedUpdate(
      key,
      async (stored) => {
        // `guess` came from this storage, so it is decrypted already.
        const current = stored === undefined || stored === guess ? stored : this.#open(stored);
        const decided = await update(current);
        const decision: UpdateDecision =
          decided.action === 'keep' && current !== undefined && this.#stale.has(current)
            ? { action: 'put', value: current.value }
            : decided;
        written = decision.action === 'put' ? decision.value : undefined;
        return decision.action === 'put'
          ? { ...decision, value: this.#seal(key, decision.value) }
          : decision;
      },
      options,
    );
    const previous =
      result.previous && (result.previous === guess ? guess : this.#open(result.previous));
    if (result.kv === undefined) return { ...result, ...(previous && { previous }) };
    if (written !== undefined)
      return { ...result, kv: this.#written(result.kv, written), ...(previous && { previous }) };
    const kv = result.kv === guess ? guess : this.#open(result.kv);
    return { ...result, kv, ...(previous && { previous }) };
  }

  async delete(
    key: string,
    options?: { readonly expectedRevision?: Revision },
  ): Promise<{ readonly previous: KeyValue; readonly revision: Revision }> {
    try {
      const { previous, revision } = await this.#storage.delete(key, options);
      return { previous: this.#open(previous), revision };
    } catch (error) {
      if (!(error instanceof StorageError) || error.current === undefined) throw error;
      const { reason, message, current } = error;
      throw new StorageError(reason, message, { key, current: this.#open(current), cause: error });
    }
  }

  watch(prefix: string, options?: WatchOptions): WatchStream<StorageEvent> {
    const stream = this.#storage.watch(prefix, options);
    const open = (event: StorageEvent): StorageEvent => this.#openEvent(event);
    return {
      stop: () => stream.stop(),
      async *[Symbol.asyncIterator]() {
        for await (const event of stream) yield open(event);
      },
    };
  }

  addIndex({ prefix, valueOf }: IndexDefinition): StorageIndex {
    const index = this.#storage.addIndex({
      prefix,
      valueOf: (stored) => valueOf(this.#open(stored)),
    });
    return {
      list: async (value, options) => {
        const result = await index.list(value, options);
        return { ...result, items: result.items.map((kv) => this.#open(kv)) };
      },
      close: () => index.close(),
    };
  }

  count(prefix: string): Promise<number> {
    return this.#storage.count(prefix);
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

  #openEvent(event: StorageEvent): StorageEvent {
    switch (event.type) {
      case 'put':
        return {
          ...event,
          kv: this.#open(event.kv),
          ...(event.previous && { previous: this.#open(event.previous) }),
        };
      case 'delete':
        return { ...event, previous: this.#open(event.previous) };
      case 'progress':
        return event;
    }
  }

  #seal(key: string, value: Uint8Array): Uint8Array {
    return this.#transformerFor(key).seal(value, key);
  }

  #written(stored: KeyValue, value: Uint8Array): KeyValue {
    const { key, createRevision, modRevision } = stored;
    const kv = { key, value, createRevision, modRevision };
    this.#opened.set(stored, kv);
    return kv;
  }

  #open(stored: KeyValue): KeyValue {
    const before = this.#opened.get(stored);
    if (before !== undefined) return before;
    const { key, value: sealed, createRevision, modRevision } = stored;
    try {
      const { value, stale } = this.#transformerFor(key).open(sealed, key);
      const kv = value === sealed ? stored : { key, value, createRevision, modRevision };
      this.#opened.set(stored, kv);
      if (stale) this.#stale.add(kv);
      return kv;
    } catch (error) {
      const problem = errorMessage(error);
      throw new StorageError('Corrupt', `unable to transform key "${stored.key}": ${problem}`, {
        key: stored.key,
        cause: error,
      });
    }
  }
}
