// The storage contract, shared by every engine (memory, embedded, etcd): etcd's model of revisions,
// compare-and-swap writes and watches from a revision. Values are opaque bytes: storage does not
// know what a Pod is.
//
// Guaranteed: operations on one key are strictly serializable; each write takes the next revision
// of the store; a watch delivers events in order of revision, without duplicates and gaps, and can
// be resumed from the last revision seen; an acknowledged write of a durable engine is on disk.
// Not guaranteed: that a list and a later get read the same revision, or that a watch is prompt.
//
// Errors are StorageError (below), a closed set of reasons. Any other error is a bug.

import type { WatchStream } from '#machinery/watch.ts';

/**
 * A store-wide revision: at least 1 after the first write, and below 2^53, so exact in a JavaScript
 * number.
 */
export type Revision = number;

/**
 * The value of one key at a revision. All readers share `value`; it must never be modified. It may be
 * made anew by each read: keep it in a variable to read it twice, and see value.ts for its size.
 */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: Revision;
  readonly modRevision: Revision;
}

export interface GetOptions {
  /** The revision to read at. 0 or absent: the latest. */
  readonly revision?: Revision;
}

export interface ListOptions {
  /** The revision to read at. 0 or absent: the latest. */
  readonly revision?: Revision;
  /** The maximum number of items. 0 or absent: all. */
  readonly limit?: number;
  /** Lists only keys strictly greater than this one, which is the last key of the previous page. */
  readonly startAfter?: string;
}

export interface ListResult {
  /** Items in ascending order of key, compared as UTF-8 bytes. */
  readonly items: readonly KeyValue[];
  /** The revision the list was read at. */
  readonly revision: Revision;
  /** The number of keys under the prefix after the last returned item, at that revision. */
  readonly remaining: number;
}

/** Defines an index: keys grouped by a string that is derived from their values. */
export interface IndexDefinition {
  /** Only keys under this prefix are indexed; it ends in '/'. */
  readonly prefix: string;
  /**
   * Returns the value of a key in the index; a pure function of the key's state. If it throws, the
   * index lists the key under every value, so that readers get the error.
   */
  readonly valueOf: (kv: KeyValue) => string;
}

export interface IndexListOptions extends ListOptions {
  /** Only keys under this prefix, which ends in '/'. Default: the prefix of the index. */
  readonly within?: string;
}

export interface IndexListResult {
  /** Items in ascending order of key, compared as UTF-8 bytes. */
  readonly items: readonly KeyValue[];
  /** The revision the list was read at. */
  readonly revision: Revision;
  /** More keys with this value may follow the last item. */
  readonly more: boolean;
  /**
   * True: every item has the value. Absent: there may be items whose value could not be read (see
   * IndexDefinition).
   */
  readonly isCertain?: true;
}

/**
 * An index lists what `Storage.list` of its prefix would list, restricted to the keys with one
 * value, and with the same guarantees. The engine builds it at the first list. A list costs the
 * same however many keys have other values. Exceptions are a list at a revision from before the
 * index was built, and a list at a revision that the engine no longer has in memory.
 */
export interface StorageIndex {
  /** Returns the keys with this value. Throws Expired, FutureRevision, Closed. */
  list(value: string, options?: IndexListOptions): Promise<IndexListResult>;
  /** Stops updating the index on writes and frees it. A later list builds it again. Idempotent. */
  close(): void;
}

export type StorageEvent =
  /** `previous` is absent exactly when this write created the key. */
  | {
      readonly type: 'put';
      readonly revision: Revision;
      readonly kv: KeyValue;
      readonly previous?: KeyValue;
      readonly more?: boolean;
      /**
       * True: there were other writes of the key between `previous` and this one, and `revision`
       * may be later than that of `kv`. Only beats (see StorageBeats) are published so.
       */
      readonly coalesced?: boolean;
    }
  /** `previous` is the last value before the deletion. */
  | {
      readonly type: 'delete';
      readonly revision: Revision;
      readonly key: string;
      readonly previous: KeyValue;
      /**
       * True if another event with the same revision follows, so that a watch must be resumed from
       * before this revision. Only expiry produces such events: on etcd, keys that share a lease
       * expire at one revision. The last event of the revision is certain to arrive only in a watch
       * whose prefix covers every key with a lease.
       */
      readonly more?: boolean;
    }
  /** No event under the prefix with a revision up to and including `revision` is still to come. */
  | { readonly type: 'progress'; readonly revision: Revision };

export interface WatchOptions {
  /**
   * Delivers events with a revision strictly greater than this one. 0 or absent: events of writes
   * after this call.
   */
  readonly afterRevision?: Revision;
  /**
   * Sends a progress event at once, and then at least this often while the watch is idle. Absent:
   * no progress events.
   */
  readonly progressIntervalMs?: number;
  /** Reports whether progress after the first is needed now. Default: always. */
  readonly progressWanted?: () => boolean;
  /** Stirs (see `setPoll` of the clock) when it comes to be of use. */
  readonly progressTopic?: string;
}

/**
 * The decision of an update function about the current value. `current` is undefined if the key
 * does not exist.
 */
export type UpdateDecision =
  | { readonly action: 'put'; readonly value: Uint8Array; readonly ttlMs?: number }
  | { readonly action: 'delete' }
  /** Writes nothing. The operation returns the current value. */
  | { readonly action: 'keep' };

export interface UpdateResult {
  /** The value stored after the operation. Absent if the key was deleted or does not exist. */
  readonly kv?: KeyValue;
  /** The value before the operation. */
  readonly previous?: KeyValue;
  /** The revision of the write, or the current revision if nothing was written. */
  readonly revision: Revision;
}

/** A change of some bytes of a value: `texts[i]` replaces as many bytes at `places[i]`. */
export interface ValuePatch {
  /** The texts do not overlap, and end where the value does, or before. */
  readonly places: readonly number[];
  readonly texts: readonly Uint8Array[];
}

/** The outcome of `Storage.patchTogether`. */
export interface PatchedTogether {
  /** The new state of each key, in the given order. It may be pending. Undefined: not written. */
  readonly states: readonly (KeyValue | undefined)[];
  /**
   * Resolves when all of these states are committed and visible. Rejects with StorageError if one of
   * them is not, or may not be.
   */
  readonly done: Promise<void>;
}

/** Synchronous reads of the latest committed state. They throw Closed. */
export interface StorageNow {
  get(key: string): KeyValue | undefined;
  /** Returns the keys in ascending order. `prefix` ends in '/'. */
  list(prefix: string): readonly KeyValue[];
}

/** A key that is written once a period; only the times in its value change. */
export interface Beat {
  readonly key: string;
  /**
   * The last two writes: when they were made (milliseconds since the epoch), and with which value.
   */
  readonly previous: { readonly value: Uint8Array; readonly at: number };
  readonly latest: {
    readonly value: Uint8Array;
    readonly at: number;
    readonly revision: Revision;
  };
  /** The time of the next write, on the clock's monotonic scale. */
  readonly nextDue: number;
  readonly periodMs: number;
  /** Called once when the store stops the writes, with the time of the next write. */
  readonly onReleased: (nextDue: number) => void;
}

/**
 * Makes writes that follow from the time alone, on a lazy virtual clock. Reads find the same
 * values, revisions and history as if each had been made when it was due. A watch gets the last
 * write of each key when the clock stops; with `observe`, each one when it is due.
 */
export interface StorageBeats {
  /**
   * Returns a function that ends it. Returns undefined if the key has changed, is observed, or
   * changes by more than its times.
   */
  takeOver(beat: Beat): (() => void) | undefined;
  /**
   * Releases a key, or the keys under a prefix that ends in '/', and takes none over until the
   * returned function is called.
   */
  observe(path: string): () => void;
}

/** Results of decoding, by the stored value. */
export type DecodedValues = WeakMap<Uint8Array, WeakRef<object>>;

export interface Storage {
  /**
   * Returns undefined if the key does not exist at that revision. Throws Expired, FutureRevision.
   */
  get(key: string, options?: GetOptions): Promise<KeyValue | undefined>;
  /**
   * Returns every key that starts with `prefix`, which ends in '/'. Throws Expired, FutureRevision.
   */
  list(prefix: string, options?: ListOptions): Promise<ListResult>;
  addIndex(definition: IndexDefinition): StorageIndex;

  /** Returns the number of keys under the prefix now. */
  count(prefix: string): Promise<number>;
  /** Creates the key, which expires after `ttlMs` if that is set. Throws KeyExists. */
  create(key: string, value: Uint8Array, options?: { readonly ttlMs?: number }): Promise<KeyValue>;
  /**
   * Reads the current value, calls `update`, and writes its decision only if the value has not
   * changed since. Otherwise reads again and calls `update` again.
   *
   * `update` may be called several times and must have no side effects. An error that it throws is
   * rethrown to the caller, and nothing is written. `guess` is a recent value, which saves the
   * first read. If `update` throws for a stale guess, it is called again with the current value.
   */
  guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options?: { readonly guess?: KeyValue },
  ): Promise<UpdateResult>;
  /**
   * Patches the values of many keys: what as many `guaranteedUpdate` would do in this order, where each
   * key gets its own revision, event and history. `patchOf` gets the current state of each key that
   * exists, which may be a pending write, and returns undefined to write nothing. It must have no side
   * effects in the storage, and must not throw. The keys do not expire. Throws Closed, Unavailable.
   *
   * Absent: it would cost as much as single updates.
   */
  patchTogether?(
    keys: readonly string[],
    patchOf: (current: KeyValue, index: number) => ValuePatch | undefined,
  ): PatchedTogether;
  /**
   * Deletes the key if its modRevision is `expectedRevision` (absent: at any revision). Returns the
   * deleted value and the revision of the deletion. Throws KeyNotFound, Conflict.
   */
  delete(
    key: string,
    options?: { readonly expectedRevision?: Revision },
  ): Promise<{ readonly previous: KeyValue; readonly revision: Revision }>;
  /**
   * Watches the keys under `prefix`. Throws only for a prefix that does not end in '/', which is a
   * bug of the caller. All other errors come from the iterator of the stream, even those that the
   * engine detects during this call:
   * - Expired: events after `afterRevision` have been compacted (some engines also watch on if these
   *   were of other prefixes); the consumer lists again.
   * - SlowWatcher: the consumer did not keep up; it resumes from the last revision it saw.
   * - Closed.
   */
  watch(prefix: string, options?: WatchOptions): WatchStream<StorageEvent>;
  /**
   * Forgets history before `revision`: reads and watches from before it fail with Expired. The
   * current state does not change.
   */
  compact(revision: Revision): Promise<void>;
  /** Returns the latest committed revision. */
  currentRevision(): Promise<Revision>;
  /**
   * Synchronous `get` and `list`, for engines whose state is in this process. Absent: a read needs
   * I/O.
   */
  readonly now?: StorageNow;
  /**
   * Requests that watches with progress get a progress event soon, even if nothing is written.
   * Absent: their progress is always current.
   */
  readonly requestProgress?: () => void;
  /** Absent: every write is made by whatever wants it made. */
  readonly beats?: StorageBeats;
  /**
   * A memo for readers: what they have decoded from a value, as long as something else keeps the
   * result. Stores that share values (forks) share it. Absent: each reader decodes for itself.
   */
  readonly decoded?: DecodedValues;
  /**
   * How many bytes the database has allocated. Rejects with StorageError. Absent: the engine keeps
   * nothing but memory.
   */
  readonly sizeBytes?: () => Promise<number>;
  /** Throws StorageError if writes cannot be served now (for /readyz). */
  health(): Promise<void>;
  /**
   * Closes the engine. Acknowledged writes are kept; operations in flight fail with Closed.
   * Idempotent.
   */
  close(): Promise<void>;
}

export type StorageErrorReason =
  | 'KeyExists'
  | 'KeyNotFound'
  /** A precondition did not hold. */
  | 'Conflict'
  /** The requested revision has been compacted. */
  | 'Expired'
  /** The store has not reached the requested revision within the engine's wait. */
  | 'FutureRevision'
  | 'Closed'
  /** A watcher did not keep up and was cut off. */
  | 'SlowWatcher'
  /** The device has no space: the write was not made, and reads still work. */
  | 'NoSpace'
  /** The value is larger than the storage takes: the write was not made. */
  | 'TooLarge'
  /** The data on disk is damaged, or another version wrote it. The message says what to do. */
  | 'Corrupt'
  /** The engine failed, and the outcome of the operation is unknown. */
  | 'Unavailable';

export class StorageError extends Error {
  readonly reason: StorageErrorReason;
  readonly key: string | undefined;
  /** For Conflict: the current value. For Expired: undefined. */
  readonly current: KeyValue | undefined;
  /** For Expired: the oldest readable revision. For FutureRevision: the current revision. */
  readonly revision: Revision | undefined;

  constructor(
    reason: StorageErrorReason,
    message: string,
    details: { key?: string; current?: KeyValue; revision?: Revision; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = 'StorageError';
    this.reason = reason;
    this.key = details.key;
    this.current = details.current;
    this.revision = details.revision;
  }
}
