// The storage contract, shared by every engine (memory, embedded, etcd): etcd's model of revisions, compare-and-swap writes
// and watches from a revision. Values are opaque bytes: storage does not know what a Pod is.
//
// Promised: strict serializability of single-key operations; revisions grow by one per write, store-wide; a watch is
// ordered by revision, unique and without gaps, and can be resumed from the last revision seen; an acknowledged write of a
// durable engine is on disk. Not promised: that a list and a later get see the same revision, or that a watch is prompt.
//
// Errors are StorageError (below), a closed set of reasons; anything else thrown is a bug.

import type { WatchStream } from '#machinery/watch.ts';

/** A store-wide revision, >= 1 once anything was written. Exact in a JS number (below 2^53). */
export type Revision = number;

/** One key's value at a revision. `value` must never be modified by anyone: it is shared by all readers. */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: Revision;
  readonly modRevision: Revision;
}

export interface GetOptions {
  /** Read the state as of this revision; 0 or absent: the latest. */
  readonly revision?: Revision;
}

export interface ListOptions {
  /** Read the state as of this revision; 0 or absent: the latest. */
  readonly revision?: Revision;
  /** At most this many items (0 or absent: all). */
  readonly limit?: number;
  /** Only keys strictly greater than this one (the last key of the page before). */
  readonly startAfter?: string;
}

export interface ListResult {
  /** In ascending order of key (by UTF-8 bytes). */
  readonly items: readonly KeyValue[];
  /** The revision the list was read at. */
  readonly revision: Revision;
  /** Keys under the prefix, after the last item returned, at that revision. */
  readonly remaining: number;
}

/** How keys are found by something that their values say. */
export interface IndexDefinition {
  /** Only keys under this prefix are indexed; it ends in '/'. */
  readonly prefix: string;
  /**
   * Returns the value of a key in the index: a pure function of its state. If it throws, the key is listed under every value, so that readers
   * find the error.
   */
  readonly valueOf: (kv: KeyValue) => string;
}

export interface IndexListOptions extends ListOptions {
  /** Only keys under this prefix, which ends in '/'. Default: the prefix of the index. */
  readonly within?: string;
}

export interface IndexListResult {
  /** In ascending order of key (by UTF-8 bytes). */
  readonly items: readonly KeyValue[];
  /** The revision the list was read at. */
  readonly revision: Revision;
  /** There may be keys with this value after the last item. */
  readonly more: boolean;
}

/**
 * An index lists what `Storage.list` of its prefix would, without the keys of other values, and with the same promises. It is built when it
 * is first used. The cost of a list does not depend on the keys of other values, except of a list at a revision from before the index was
 * built, or one that the engine does not remember.
 */
export interface StorageIndex {
  /** Throws Expired, FutureRevision, Closed. */
  list(value: string, options?: IndexListOptions): Promise<IndexListResult>;
  /** Writes do not update the index any more; a later list builds it again. Idempotent. */
  close(): void;
}

export type StorageEvent =
  /** `previous` is absent exactly when the key was created. */
  | {
      readonly type: 'put';
      readonly revision: Revision;
      readonly kv: KeyValue;
      readonly previous?: KeyValue;
      readonly more?: boolean;
      /** True: there were other writes of the key between `previous` and this one. Only beats (see StorageBeats) are published so. */
      readonly coalesced?: boolean;
    }
  /** `previous` is the last value before the deletion. */
  | {
      readonly type: 'delete';
      readonly revision: Revision;
      readonly key: string;
      readonly previous: KeyValue;
      /**
       * True: another event with the same revision follows, so a watch must be resumed from before it. Only expiry does that
       * (on etcd keys that share a lease go at once), and only in a watch of everything that a lease may have is it sure to end.
       */
      readonly more?: boolean;
    }
  /** Nothing under the prefix up to and including `revision` is still to come. */
  | { readonly type: 'progress'; readonly revision: Revision };

export interface WatchOptions {
  /** Events with a revision strictly greater than this one. 0 or absent: from now (whatever is written after the call). */
  readonly afterRevision?: Revision;
  /** Ask for a progress event at once, and then at least this often while idle (absent: none). */
  readonly progressIntervalMs?: number;
  /** Reports whether progress after the first is of use at present. Default: it always is. */
  readonly progressWanted?: () => boolean;
  /** Stirs (see `setPoll` of the clock) when it comes to be of use. */
  readonly progressTopic?: string;
}

/** The decision of an update function about the current value. `undefined` current: the key does not exist. */
export type UpdateDecision =
  | { readonly action: 'put'; readonly value: Uint8Array; readonly ttlMs?: number }
  | { readonly action: 'delete' }
  /** Leave as it is; the operation answers the current value. */
  | { readonly action: 'keep' };

export interface UpdateResult {
  /** The value now stored; absent when the key was deleted or never existed. */
  readonly kv?: KeyValue;
  /** The value before. */
  readonly previous?: KeyValue;
  /** The revision of the write, or the current one if nothing was written. */
  readonly revision: Revision;
}

/** The latest committed state. Throws Closed. */
export interface StorageNow {
  get(key: string): KeyValue | undefined;
  /** In ascending order of key. `prefix` ends in '/'. */
  list(prefix: string): readonly KeyValue[];
}

/** A key that is written once a period, with nothing changed but the times in its value. */
export interface Beat {
  readonly key: string;
  /** The last two writes: when they were made (milliseconds since the epoch), and with which value. */
  readonly previous: { readonly value: Uint8Array; readonly at: number };
  readonly latest: {
    readonly value: Uint8Array;
    readonly at: number;
    readonly revision: Revision;
  };
  /** When the next one is due, on the clock's monotonic scale. */
  readonly nextDue: number;
  readonly periodMs: number;
  /** Called once if the store makes no more of them, with the time of the next. */
  readonly onReleased: (nextDue: number) => void;
}

/**
 * Makes writes that follow from the time alone, on a lazy virtual clock. Reads find the same values, revisions and history as if each had been
 * made when it was due. A watch gets the last write of each key when the clock stops; with `observe`, each one when it is due.
 */
export interface StorageBeats {
  /** Returns a function that ends it. Returns undefined if the key has changed, is observed, or changes by more than its times. */
  takeOver(beat: Beat): (() => void) | undefined;
  /** Releases the keys under the prefix, and takes none over until the returned function is called. */
  observe(prefix: string): () => void;
}

export interface Storage {
  /** Undefined if the key does not exist at that revision. Throws Expired, FutureRevision. */
  get(key: string, options?: GetOptions): Promise<KeyValue | undefined>;
  /** Every key that starts with `prefix` (which ends in '/'). Throws Expired, FutureRevision. */
  list(prefix: string, options?: ListOptions): Promise<ListResult>;
  addIndex(definition: IndexDefinition): StorageIndex;

  /** The number of keys under the prefix now. */
  count(prefix: string): Promise<number>;
  /** Throws KeyExists. `ttlMs`: the key goes by itself after that time. */
  create(key: string, value: Uint8Array, options?: { readonly ttlMs?: number }): Promise<KeyValue>;
  /**
   * Reads the current value, calls `update`, and writes its decision only if the value has not changed since; otherwise
   * reads again and calls `update` again. `update` may be called several times and must have no effects; what it throws is
   * thrown to the caller and nothing is written. `guess`: a recent value that saves the first read; if `update` throws on a
   * stale guess it is called again with a fresh value.
   */
  guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options?: { readonly guess?: KeyValue },
  ): Promise<UpdateResult>;
  /**
   * Deletes the key if its modRevision is `expectedRevision` (absent: whatever it is); answers the value deleted.
   * Throws KeyNotFound, Conflict. `revision` is that of the deletion.
   */
  delete(
    key: string,
    options?: { readonly expectedRevision?: Revision },
  ): Promise<{ readonly previous: KeyValue; readonly revision: Revision }>;
  /**
   * Events of the keys under `prefix`. Throws for a prefix that does not end in '/' (a programmer's error), and nothing else: all errors come
   * from the iterator of the stream, also those that the engine knows at once. They are Expired (events after `afterRevision` have been compacted), Closed, and SlowWatcher (the consumer did
   * not keep up); the consumer then resumes from the last revision it saw, or, after Expired, begins anew with a list.
   */
  watch(prefix: string, options?: WatchOptions): WatchStream<StorageEvent>;
  /** Forgets history before `revision`: reads and watches from before it answer Expired. The current state is untouched. */
  compact(revision: Revision): Promise<void>;
  /** The latest committed revision. */
  currentRevision(): Promise<Revision>;
  /** `get` and `list` without a promise, for engines whose state is in this process. Absent: the engine has to read it. */
  readonly now?: StorageNow;
  /** Requests that watches with progress get it soon, even if nothing happens. Absent: their progress is always current. */
  readonly requestProgress?: () => void;
  /** Absent: every write is made by whatever wants it made. */
  readonly beats?: StorageBeats | undefined;
  /** How many bytes the database has allocated. Rejects with StorageError. Absent: the engine keeps nothing but memory. */
  readonly sizeBytes?: () => Promise<number>;
  /** Throws StorageError if writes could not be served now (for /readyz). */
  health(): Promise<void>;
  /** Acknowledged writes are kept; operations still under way fail with Closed. Idempotent. */
  close(): Promise<void>;
}

export type StorageErrorReason =
  | 'KeyExists'
  | 'KeyNotFound'
  /** A precondition did not hold. */
  | 'Conflict'
  /** The revision asked for has been compacted. */
  | 'Expired'
  /** The revision asked for has not been reached (and was not within the engine's wait). */
  | 'FutureRevision'
  | 'Closed'
  /** A watcher did not keep up and was cut off. */
  | 'SlowWatcher'
  /** No room on the device: the write was not made; reads go on. */
  | 'NoSpace'
  /** The data on disk is damaged or was written by another version; the message says what to do. */
  | 'Corrupt'
  /** The engine failed in a way that leaves the outcome of the operation unknown. */
  | 'Unavailable';

export class StorageError extends Error {
  readonly reason: StorageErrorReason;
  readonly key: string | undefined;
  /** For Conflict: the value found. For Expired: undefined. */
  readonly current: KeyValue | undefined;
  /** For Expired: the oldest revision that can still be read; for FutureRevision: the current revision. */
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
