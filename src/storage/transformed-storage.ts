// A storage that stores its values in another form in another storage, whose contract it keeps:
// encrypted, or as another program reads and writes them.
//
// A value that would have another form if it were written now is stale, as after a change of keys.
// An update that leaves a stale value unchanged writes it again. So
// `kubectl get -o json … | kubectl replace -f -` rotates keys, as in Kubernetes.
//
// A value whose key another program has to decrypt first is opened asynchronously. An index that has
// met such a value is not certain of it, as of a value that cannot be read at all.

import { type Awaitable, andThen } from '#machinery/awaitable.ts';
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
} from './interface.ts';

/** A value, as it was before it was stored. */
export interface Opened {
  readonly value: Uint8Array;
  readonly stale: boolean;
}

/** `context`: the name of the value in the database. */
export interface ValueTransformer {
  /** Returns the form that is stored. Throws while it cannot be made. */
  seal(value: Uint8Array, context: string): Uint8Array;
  /** Returns the value. Throws or rejects if it cannot be read. */
  open(stored: Uint8Array, context: string): Awaitable<Opened>;
}

export interface TransformedStorageConfig {
  /** The storage of the transformed values. Closing this storage closes it. */
  readonly storage: Storage;
  /** Returns the transformer for the values of a key. */
  readonly transformerFor: (key: string) => ValueTransformer;
  /** Returns the name of a key in the database. Default: the key. */
  readonly contextOf?: (key: string) => string;
  /**
   * A value that is not stale never becomes so. Default: the stored form is kept as long as the
   * value, to find out.
   */
  readonly isFixed?: true;
}

export class TransformedStorage implements Storage {
  readonly #storage: Storage;
  readonly #transformerFor: (key: string) => ValueTransformer;
  readonly #isFixed: boolean;
  readonly #contextOf: (key: string) => string;
  /** Values by their stored forms, so that the same stored object yields the same object. */
  readonly #opened = new WeakMap<KeyValue, KeyValue>();
  /** Stored forms by their values, to find out whether they are stale. Empty if `isFixed`. */
  readonly #sealed = new WeakMap<KeyValue, KeyValue>();
  /** Values that are stale. Empty unless `isFixed`. */
  readonly #stale = new WeakSet<KeyValue>();
  readonly requestProgress?: () => void;
  readonly sizeBytes?: () => Promise<number>;

  constructor(config: TransformedStorageConfig) {
    this.#storage = config.storage;
    this.#transformerFor = config.transformerFor;
    this.#contextOf = config.contextOf ?? ((key) => key);
    this.#isFixed = config.isFixed === true;
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
    return { ...result, items: await this.#openAll(result.items) };
  }

  async create(
    key: string,
    value: Uint8Array,
    options?: { readonly ttlMs?: number },
  ): Promise<KeyValue> {
    const sealed = this.#seal(key, value);
    const kv = await this.#storage.create(key, sealed, options);
    return sealed === value ? kv : this.#remember(kv, value);
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
        // `guess` came from this storage, so it is opened already.
        const current =
          stored === undefined || stored === guess ? stored : await this.#open(stored);
        const decision = await this.#decision(current, await update(current));
        if (decision.action !== 'put') {
          written = undefined;
          return decision;
        }
        const { value } = decision;
        const sealed = this.#seal(key, value);
        written = sealed === value ? undefined : value;
        return { ...decision, value: sealed };
      },
      options,
    );
    const previous =
      result.previous && (result.previous === guess ? guess : await this.#open(result.previous));
    if (result.kv === undefined) return { ...result, ...(previous && { previous }) };
    if (written !== undefined)
      return { ...result, kv: this.#remember(result.kv, written), ...(previous && { previous }) };
    const kv = result.kv === guess ? guess : await this.#open(result.kv);
    return { ...result, kv, ...(previous && { previous }) };
  }

  async delete(
    key: string,
    options?: { readonly expectedRevision?: Revision },
  ): Promise<{ readonly previous: KeyValue; readonly revision: Revision }> {
    try {
      const { previous, revision } = await this.#storage.delete(key, options);
      return { previous: await this.#open(previous), revision };
    } catch (error) {
      if (!(error instanceof StorageError) || error.current === undefined) throw error;
      const { reason, message, current } = error;
      const opened = await this.#open(current);
      throw new StorageError(reason, message, { key, current: opened, cause: error });
    }
  }

  watch(prefix: string, options?: WatchOptions): WatchStream<StorageEvent> {
    const stream = this.#storage.watch(prefix, options);
    const open = (event: StorageEvent): Awaitable<StorageEvent> => this.#openEvent(event);
    return {
      stop: () => stream.stop(),
      async *[Symbol.asyncIterator]() {
        for await (const event of stream) {
          const opened = open(event);
          yield opened instanceof Promise ? await opened : opened;
        }
      },
    };
  }

  addIndex({ prefix, valueOf }: IndexDefinition): StorageIndex {
    const index = this.#storage.addIndex({
      prefix,
      valueOf: (stored) => valueOf(this.#openNow(stored)),
    });
    return {
      list: async (value, options) => {
        const result = await index.list(value, options);
        const items = await this.#openAll(result.items);
        // The keys are known now: the next list makes an index that is certain.
        if (result.isCertain !== true) index.close();
        return { ...result, items };
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

  #openEvent(event: StorageEvent): Awaitable<StorageEvent> {
    switch (event.type) {
      case 'put': {
        const { previous: stored } = event;
        const previous = stored && this.#open(stored);
        return andThen(this.#open(event.kv), (kv) =>
          andThen(previous, (opened) => ({
            ...event,
            kv,
            ...(opened !== undefined && { previous: opened }),
          })),
        );
      }
      case 'delete':
        return andThen(this.#open(event.previous), (previous) => ({ ...event, previous }));
      case 'progress':
        return event;
    }
  }

  #seal(key: string, value: Uint8Array): Uint8Array {
    return this.#transformerFor(key).seal(value, this.#contextOf(key));
  }

  /** Puts a value that is kept but stale. */
  async #decision(current: KeyValue | undefined, decided: UpdateDecision): Promise<UpdateDecision> {
    if (current === undefined || decided.action !== 'keep') return decided;
    return (await this.#isStale(current)) ? { action: 'put', value: current.value } : decided;
  }

  async #isStale(opened: KeyValue): Promise<boolean> {
    if (this.#isFixed) return this.#stale.has(opened);
    const { key, value } = this.#sealed.get(opened) ?? opened;
    return (await this.#transformerFor(key).open(value, this.#contextOf(key))).stale;
  }

  #openAll(items: readonly KeyValue[]): Awaitable<readonly KeyValue[]> {
    const opened = items.map((kv) => this.#open(kv));
    return opened.some((each) => each instanceof Promise)
      ? Promise.all(opened.map(async (each) => each))
      : (opened as readonly KeyValue[]);
  }

  /** Throws if the value cannot be opened, or not at once. */
  #openNow(stored: KeyValue): KeyValue {
    const opened = this.#open(stored);
    if (!(opened instanceof Promise)) return opened;
    // The list of the index opens the value again, and reports the error.
    opened.catch(() => undefined);
    throw new Error(`the value of ${stored.key} is being decrypted`);
  }

  #open(stored: KeyValue): Awaitable<KeyValue> {
    const before = this.#opened.get(stored);
    if (before !== undefined) return before;
    const { key, value: sealed } = stored;
    const made = ({ value, stale }: Opened): KeyValue =>
      value === sealed ? stored : this.#remember(stored, value, stale);
    try {
      const opened = this.#transformerFor(key).open(sealed, this.#contextOf(key));
      return opened instanceof Promise
        ? opened.then(made, (error: unknown) => {
            throw unreadable(key, error);
          })
        : made(opened);
    } catch (error) {
      throw unreadable(key, error);
    }
  }

  /** `value`: another one than the stored one. */
  #remember(stored: KeyValue, value: Uint8Array, stale = false): KeyValue {
    const before = this.#opened.get(stored);
    if (before !== undefined) return before;
    const { key, createRevision, modRevision } = stored;
    const kv = { key, value, createRevision, modRevision };
    this.#opened.set(stored, kv);
    if (!this.#isFixed) this.#sealed.set(kv, stored);
    else if (stale) this.#stale.add(kv);
    return kv;
  }
}

function unreadable(key: string, cause: unknown): StorageError {
  const message = `unable to transform key "${key}": ${errorMessage(cause)}`;
  return new StorageError('Corrupt', message, { key, cause });
}
