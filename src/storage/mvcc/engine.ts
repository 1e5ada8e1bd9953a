// The storage contract on the in-memory core: compare-and-swap, watches, expiry, compaction. With a
// commit log, every write is durable before any reader sees it; without one, it is visible at once.
//
// There are two states. The **committed** state (`MvccStore`) is read, listed and watched. The
// **head** is the committed state plus the pending writes. A new write is checked against the head
// and gets its revision there, so many writes, also of one key, can be pending together. A result
// that depends on a pending write (a conflict, for example) waits until that write is committed. If
// the write is rolled back instead, the operation is evaluated again. So no reader ever sees a
// value that was rolled back.

import type { Awaitable } from '#machinery/awaitable.ts';
import { ANYTHING, type Clock, stir } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { TransientMap } from '#machinery/collections/transient-map.ts';
import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import {
  type DecodedValues,
  type GetOptions,
  type IndexDefinition,
  type IndexListOptions,
  type IndexListResult,
  type KeyValue,
  type ListOptions,
  type ListResult,
  type PatchedTogether,
  type Revision,
  type Storage,
  StorageError,
  type StorageEvent,
  type StorageIndex,
  type StorageNow,
  type UpdateDecision,
  type UpdateResult,
  type ValuePatch,
  type WatchOptions,
} from '../interface.ts';
import { listByScan } from '../list-by-scan.ts';
import { Beats } from './beats.ts';
import type { CommitLog, CommitSink, PendingWrite } from './commit-log.ts';
import type { EngineWrite } from './engine-write.ts';
import { type Expiration, Expiry, type SharedExpirations } from './expiry.ts';
import {
  DEFAULT_HISTORY_LIMITS,
  HistoryKeeper,
  type HistoryLimits,
  type RevisionSample,
} from './history-keeper.ts';
import type { KeyIndex } from './key-index.ts';
import { assertKey, assertPrefix } from './key-order.ts';
import { PatchedWrites } from './patched-writes.ts';
import { RevisionTimes } from './revision-times.ts';
import type { ChangeEvent, MvccStore } from './store.ts';
import { WatchHub } from './watch-hub.ts';
import { nextTurn } from '#machinery/turn.ts';

export interface EngineOptions extends Partial<HistoryLimits> {
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * The number of events that may wait for a watcher, beyond the past events that it asked for,
   * before it is cut off. Default: 10,000.
   */
  readonly watchBufferEvents?: number;
  /**
   * Called once if the engine fails and accepts no more writes. The server that uses it should
   * stop.
   */
  readonly onFailure?: (error: StorageError) => void;
}

export interface EngineConfig extends EngineOptions {
  /** The committed state at the start. The engine owns it from now on. */
  readonly store: MvccStore;
  /** The expirations of the keys in `store`. */
  readonly expirations?: readonly Expiration[];
  /** The state from which `store` was forked. */
  readonly state?: EngineState;
  /** Makes the log that makes writes durable. Absent: writes are committed at once, in memory. */
  readonly openLog?: (sink: CommitSink<EngineWrite>) => CommitLog<EngineWrite>;
}

/**
 * The state of an engine in memory at one moment: an engine can be made from it any number of
 * times. It shares memory with the engine that it is from, and with those that are made from it.
 */
export interface EngineState {
  readonly revision: Revision;
  /** The wall-clock time at which the state was taken, in milliseconds since the epoch. */
  readonly now: number;
  /** The store. It must not be changed; each engine works on a fork. */
  readonly store: MvccStore;
  readonly expirations: SharedExpirations;
  readonly samples: readonly RevisionSample[];
  readonly times: RevisionTimes;
  readonly decoded: DecodedValues;
}

/** The delay in ms before expired keys are deleted again after a failure for lack of space. */
const EXPIRY_RETRY_MS = 5000;
/** The store is unhealthy if its oldest pending write waits longer than this many ms. */
const STALLED_MS = 10_000;
const DEFAULT_WATCH_BUFFER_EVENTS = 10_000;
/** Forgetting a revision takes about 2 µs, and packing its value 10; the worst value takes 400. */
const COMPACTED_PER_TURN = 100;

export class MvccEngine implements Storage {
  readonly now: StorageNow;
  readonly beats: Beats | undefined;
  /** Present only in an engine without a log. */
  readonly decoded: DecodedValues | undefined;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #store: MvccStore;
  readonly #log: CommitLog<EngineWrite> | undefined;
  readonly #hub: WatchHub;
  readonly #expiry: Expiry;
  readonly #history: HistoryKeeper;
  /** Present only in an engine without a log. */
  readonly #times: RevisionTimes;
  readonly #onFailure: ((error: StorageError) => void) | undefined;
  /** The last pending write of each key that has one. */
  readonly #pending = new TransientMap<string, EngineWrite>();
  /** The revision of the last write, pending or committed. */
  #headRevision: Revision;
  /** The error that ended all writes, if there was one. */
  #failure: StorageError | undefined;
  /**
   * When a commit was last acknowledged, or when the first write after an idle time was appended
   * (monotonic ms).
   */
  #lastCommit = 0;
  /** True if the last commit failed for lack of space. */
  #full = false;
  #removeBeats: () => void = () => undefined;
  /** Set by the first call of close(). */
  #closing: Promise<void> | undefined;

  constructor(config: EngineConfig) {
    const { clock, store } = config;
    this.#clock = clock;
    this.#logger = config.logger;
    this.#store = store;
    this.now = {
      get: (key) => {
        this.#checkOpen();
        this.beats?.noteRead(key);
        return store.get(key);
      },
      list: (prefix) => {
        this.#checkOpen();
        assertPrefix(prefix);
        this.beats?.noteRead(prefix);
        return store.under(prefix);
      },
    };
    this.#headRevision = store.revision;
    this.#onFailure = config.onFailure;
    this.#hub = new WatchHub({
      clock,
      bufferEvents: config.watchBufferEvents ?? DEFAULT_WATCH_BUFFER_EVENTS,
      currentRevision: () => store.revision,
    });
    this.#expiry = new Expiry({
      clock,
      onExpired: (due) => this.#deleteExpired(due),
      ...(config.state !== undefined && { expirations: config.state.expirations }),
    });
    this.#times = config.state?.times.fork() ?? new RevisionTimes(store.revision, clock.now());
    this.#history = new HistoryKeeper({
      clock,
      store,
      historyMs: config.historyMs ?? DEFAULT_HISTORY_LIMITS.historyMs,
      compactionIntervalMs:
        config.compactionIntervalMs ?? DEFAULT_HISTORY_LIMITS.compactionIntervalMs,
      maxHistoryRevisions: config.maxHistoryRevisions ?? DEFAULT_HISTORY_LIMITS.maxHistoryRevisions,
      maxHistoryBytes: config.maxHistoryBytes ?? DEFAULT_HISTORY_LIMITS.maxHistoryBytes,
      compact: (revision, expired) => this.#compactAutomatically(revision, expired),
      // On a virtual clock no other work waits, and ticks are made while the clock stands still.
      ...(clock.polls === undefined && { revisionsPerTurn: COMPACTED_PER_TURN }),
      ...(config.state !== undefined && { samples: config.state.samples }),
    });
    this.#log = config.openLog?.({
      committed: (writes) => this.#committed(writes),
      rolledBack: (writes, error) => this.#rolledBack(writes, error),
      failed: (writes, error) => this.#failed(writes, error),
    });
    this.beats = this.#log === undefined ? this.#makeBeats() : undefined;
    this.decoded = this.#log === undefined ? (config.state?.decoded ?? new WeakMap()) : undefined;
    for (const expiration of config.expirations ?? []) this.#expiry.set(expiration);
    this.#expiry.start();
    this.#history.written();
  }

  #makeBeats(): Beats | undefined {
    const { polls } = this.#clock;
    if (polls === undefined) return undefined;
    const beats = new Beats({
      clock: this.#clock,
      store: this.#store,
      history: this.#history,
      onRevision: (revision, at) => {
        this.#headRevision = revision;
        this.#times.written(revision, at);
      },
      onCompacted: (revision) => this.#times.compact(revision),
      publish: (event) => this.#hub.publish(event),
    });
    this.#removeBeats = polls.addBackground(beats);
    return beats;
  }

  async get(key: string, options: GetOptions = {}): Promise<KeyValue | undefined> {
    this.#checkOpen();
    this.beats?.noteRead(key);
    return options.revision ? this.#store.getAt(key, options.revision) : this.#store.get(key);
  }

  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    this.#checkOpen();
    assertPrefix(prefix);
    this.beats?.noteRead(prefix);
    return this.#store.list(prefix, options);
  }

  addIndex(definition: IndexDefinition): StorageIndex {
    assertPrefix(definition.prefix);
    // An index that was never used is not built, so writes need not update it.
    let index: KeyIndex | undefined;
    return {
      list: async (value, options) => {
        this.#checkOpen();
        const used = (index ??= this.#store.addIndex(definition, nextTurn));
        const building = used.ready();
        if (building !== undefined) {
          await building;
          this.#checkOpen();
        }
        return this.#listIndexed(used, definition, value, options);
      },
      close: () => {
        if (index !== undefined) this.#store.removeIndex(index);
        index = undefined;
      },
    };
  }

  #listIndexed(
    index: KeyIndex,
    definition: IndexDefinition,
    value: string,
    options: IndexListOptions = {},
  ): IndexListResult | Promise<IndexListResult> {
    const revision = options.revision || this.#store.revision;
    if (revision < index.start)
      return listByScan((prefix, page) => this.list(prefix, page), definition, value, options);
    return this.#store.listIndexed(index, value, {
      ...options,
      within: options.within ?? definition.prefix,
      revision,
    });
  }

  async count(prefix: string): Promise<number> {
    this.#checkOpen();
    assertPrefix(prefix);
    return this.#store.count(prefix);
  }

  async currentRevision(): Promise<Revision> {
    this.#checkOpen();
    return this.#store.revision;
  }

  create(
    key: string,
    value: Uint8Array,
    options: { readonly ttlMs?: number } = {},
  ): Promise<KeyValue> {
    try {
      assertKey(key);
      this.#checkWritable();
      const pending = this.#pending.get(key);
      const current = this.#head(key, pending);
      if (current === undefined)
        return Promise.resolve(this.#put(key, value, undefined, pending, options.ttlMs));
      return this.#isCommitted(pending).then((exists) => {
        if (exists) throw new StorageError('KeyExists', `${key} exists already`, { key });
        return this.create(key, value, options);
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options: { readonly guess?: KeyValue } = {},
  ): Promise<UpdateResult> {
    assertKey(key);
    let guess = options.guess;
    for (;;) {
      this.#checkWritable();
      const seen = guess ?? this.#head(key, this.#pending.get(key));
      guess = undefined;
      let outcome: { readonly decision: UpdateDecision } | { readonly error: unknown };
      try {
        outcome = { decision: await update(seen) };
      } catch (error) {
        outcome = { error };
      }
      this.#checkWritable();
      // Nothing else runs between this check and the write, so the decision is still based on the
      // head if the check holds.
      const pending = this.#pending.get(key);
      const current = this.#head(key, pending);
      if (current?.modRevision !== seen?.modRevision) continue;
      if ('error' in outcome) {
        if (await this.#isCommitted(pending)) throw outcome.error;
        continue;
      }
      const { decision } = outcome;
      if (decision.action === 'put') {
        const written = this.#put(key, decision.value, current, pending, decision.ttlMs);
        const kv = written instanceof Promise ? await written : written;
        return { kv, previous: current, revision: kv.modRevision };
      }
      if (decision.action === 'delete' && current !== undefined) {
        return { previous: current, revision: await this.#remove(key, pending) };
      }
      if (await this.#isCommitted(pending))
        return { kv: current, previous: current, revision: this.#store.revision };
    }
  }

  patchTogether(
    keys: readonly string[],
    patchOf: (current: KeyValue, index: number) => ValuePatch | undefined,
  ): PatchedTogether {
    this.#checkWritable();
    const writes = this.#log === undefined ? undefined : new PatchedWrites();
    let isWritten = false;
    const states = keys.map((key, index) => {
      const pending = this.#pending.get(key);
      const current = this.#head(key, pending);
      const patch = current && patchOf(current, index);
      if (patch === undefined) return undefined;
      isWritten = true;
      const kv = this.#store.patched(current!, patch, this.#headRevision + 1);
      if (writes === undefined) void this.#write(key, kv, undefined, undefined);
      else this.#append(writes.add(kv), pending);
      return kv;
    });
    return { states, done: isWritten && writes !== undefined ? writes.done : Promise.resolve() };
  }

  async delete(
    key: string,
    options: { readonly expectedRevision?: Revision } = {},
  ): Promise<{ readonly previous: KeyValue; readonly revision: Revision }> {
    assertKey(key);
    for (;;) {
      this.#checkWritable();
      const pending = this.#pending.get(key);
      const current = this.#head(key, pending);
      const { expectedRevision } = options;
      if (
        current !== undefined &&
        (expectedRevision === undefined || current.modRevision === expectedRevision)
      ) {
        return { previous: current, revision: await this.#remove(key, pending) };
      }
      if (!(await this.#isCommitted(pending))) continue;
      if (current === undefined)
        throw new StorageError('KeyNotFound', `${key} does not exist`, { key });
      throw new StorageError(
        'Conflict',
        `${key} has revision ${current.modRevision}, not ${expectedRevision}`,
        {
          key,
          current,
        },
      );
    }
  }

  watch(prefix: string, options: WatchOptions = {}): WatchStream<StorageEvent> {
    assertPrefix(prefix);
    try {
      this.#checkOpen();
      const afterRevision = options.afterRevision || this.#store.revision;
      return this.#hub.subscribe(prefix, {
        afterRevision,
        replay: this.#store.eventsAfter(afterRevision, prefix),
        progressIntervalMs: options.progressIntervalMs,
        progressWanted: options.progressWanted,
        progressTopic: options.progressTopic,
      });
    } catch (error) {
      // The error comes from the iterator, like every other end of a watch, so that callers handle
      // errors in one place.
      const failed = new WatchQueue<StorageEvent>();
      failed.fail(error);
      return failed;
    }
  }

  async compact(revision: Revision): Promise<void> {
    this.#checkWritable();
    if (!Number.isSafeInteger(revision))
      throw new TypeError(`storage: ${revision} is not a revision`);
    await this.#forget(revision, revision);
  }

  /**
   * Returns the state of this moment, in constant time but for a few bytes for each revision of the
   * history. Only an engine without a log has it: with one, what a reader sees is not all that was
   * written.
   */
  freeze(): EngineState {
    this.#checkOpen();
    if (this.#log !== undefined)
      throw new Error('storage: only a store that is in memory alone can be forked');
    return {
      revision: this.#store.revision,
      now: this.#clock.now(),
      store: this.#store.fork(),
      expirations: this.#expiry.share(),
      samples: this.#history.samples(),
      times: this.#times.fork(),
      decoded: this.decoded as DecodedValues,
    };
  }

  /**
   * The committed state of this moment: its revision, and the newest write of each key, in order of
   * revision.
   */
  snapshot(): { readonly revision: Revision; readonly writes: readonly PendingWrite[] } {
    this.#checkOpen();
    const items = this.#store.all().sort((a, b) => a.modRevision - b.modRevision);
    const writes = items.map((kv) => ({
      key: kv.key,
      revision: kv.modRevision,
      kv,
      expiresAt: this.#expiry.get(kv.key)?.deadline,
    }));
    return { revision: this.#store.revision, writes };
  }

  async health(): Promise<void> {
    this.#checkWritable();
    if (this.#full) {
      await this.#log?.probe();
      this.#full = false;
    }
    const waitedMs = this.#clock.monotonic() - this.#lastCommit;
    if (this.#pending.size > 0 && waitedMs > STALLED_MS) {
      throw new StorageError(
        'Unavailable',
        `nothing has been committed for ${Math.round(waitedMs)} ms: the disk does not keep up`,
      );
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#expiry.stop();
    this.#history.stop();
    this.#removeBeats();
    try {
      await this.#log?.close();
    } finally {
      this.#hub.failAll(closedError());
    }
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw closedError();
  }

  #checkWritable(): void {
    this.#checkOpen();
    // Each call throws a new error, so that its stack is the caller's.
    if (this.#failure !== undefined)
      throw new StorageError('Unavailable', this.#failure.message, { cause: this.#failure });
  }

  /** Returns the key's value at the head. `pending` is its last pending write. */
  #head(key: string, pending: EngineWrite | undefined): KeyValue | undefined {
    return pending === undefined ? this.#store.get(key) : pending.kv;
  }

  /**
   * Reports whether the pending write was committed. Results that depend on a pending write wait
   * for this.
   */
  async #isCommitted(pending: EngineWrite | undefined): Promise<boolean> {
    if (pending === undefined) return true;
    return await pending.done.then(
      () => true,
      () => false,
    );
  }

  /**
   * Writes a value over `current`, the key's value at the head. `pending` is the key's last pending
   * write.
   */
  #put(
    key: string,
    value: Uint8Array,
    current: KeyValue | undefined,
    pending: EngineWrite | undefined,
    ttlMs: number | undefined,
  ): Awaitable<KeyValue> {
    if (ttlMs !== undefined && !(ttlMs > 0))
      throw new TypeError(`storage: a time to live must be more than 0 ms, not ${ttlMs}`);
    const revision = this.#headRevision + 1;
    const kv = this.#store.hold({
      key,
      value,
      createRevision: current?.createRevision ?? revision,
      modRevision: revision,
    });
    const expiresAt = ttlMs === undefined ? undefined : Math.ceil(this.#clock.now() + ttlMs);
    return this.#write(key, kv, pending, expiresAt) as Awaitable<KeyValue>;
  }

  /** Deletes the key. Returns the revision of the deletion. */
  async #remove(key: string, pending: EngineWrite | undefined): Promise<Revision> {
    const revision = this.#headRevision + 1;
    await this.#write(key, undefined, pending, undefined);
    return revision;
  }

  /**
   * Takes the next revision. Resolves to `kv` when the write is committed and visible; without a
   * log that is at once.
   */
  #write(
    key: string,
    kv: KeyValue | undefined,
    pending: EngineWrite | undefined,
    expiresAt: number | undefined,
  ): Awaitable<KeyValue | undefined> {
    if (this.#log === undefined) {
      this.beats?.beforeWrite(key);
      const revision = ++this.#headRevision;
      this.#apply(key, kv, expiresAt);
      this.#times.written(revision, this.#clock.now());
      this.#history.written();
      stir(this.#clock, ANYTHING);
      return kv;
    }
    const { promise, resolve, reject } = withResolvers<KeyValue | undefined>();
    const revision = this.#headRevision + 1;
    const done = promise;
    this.#append({ key, revision, kv, expiresAt, done, resolve, reject, isLast: true }, pending);
    return promise;
  }

  /** Queues a write of the next revision. `pending`: the key's last pending write. */
  #append(write: EngineWrite, pending: EngineWrite | undefined): void {
    const { key } = write;
    this.#headRevision = write.revision;
    if (this.#pending.size === 0) this.#lastCommit = this.#clock.monotonic();
    if (pending === undefined) this.#pending.add(key, write);
    else {
      pending.isLast = false;
      this.#pending.set(key, write);
    }
    this.#log!.append(write);
  }

  #apply(key: string, kv: KeyValue | undefined, expiresAt: number | undefined): void {
    const event: ChangeEvent = this.#store.apply(key, kv);
    this.#store.settle();
    if (expiresAt === undefined) this.#expiry.clear(key);
    else this.#expiry.set({ key, modRevision: event.revision, deadline: expiresAt });
    this.#hub.publish(event);
  }

  #committed(writes: readonly EngineWrite[]): void {
    this.#full = false;
    this.#lastCommit = this.#clock.monotonic();
    for (const write of writes) {
      this.#apply(write.key, write.kv, write.expiresAt);
      if (write.isLast) this.#pending.delete(write.key);
      write.resolve(write.kv);
    }
    this.#history.written();
  }

  #rolledBack(writes: readonly EngineWrite[], error: StorageError): void {
    if (!this.#full) this.#logger.error('store: no space left, rejecting writes', { err: error });
    this.#full = true;
    this.#pending.clear();
    this.#headRevision = this.#store.revision;
    for (const write of writes) write.reject(error);
  }

  #failed(writes: readonly EngineWrite[], error: StorageError): void {
    this.#failure = error;
    this.#logger.error('store: write failed, accepting reads only', { err: error });
    this.#pending.clear();
    for (const write of writes) write.reject(error);
    this.#onFailure?.(error);
  }

  #compactAutomatically(revision: Revision, expired: Revision): void {
    this.#forget(revision, expired)?.catch((error: unknown) => {
      if (this.#closing === undefined)
        this.#logger.warn('store: deleting history failed, retrying at the next compaction', {
          err: error,
        });
    });
  }

  /** Forgets history up to the revision. Resolves when it is deleted from the log, if there is one. */
  #forget(revision: Revision, expired: Revision): Promise<void> | undefined {
    const before = this.#store.historyBytes;
    const obsolete = this.#store.compact(revision, expired);
    this.#times.compact(revision);
    const bytes = before - this.#store.historyBytes;
    return this.#log?.compact(this.#store.compactedRevision, obsolete, bytes);
  }

  #deleteExpired(due: readonly Expiration[]): void {
    for (const expiration of due) {
      this.delete(expiration.key, { expectedRevision: expiration.modRevision }).catch(
        (error: unknown) => {
          const reason = error instanceof StorageError ? error.reason : undefined;
          // Another write was first: the key is deleted, or has a new value with its own
          // expiration.
          if (reason === 'KeyNotFound' || reason === 'Conflict' || reason === 'Closed') return;
          if (reason === 'NoSpace')
            this.#expiry.set({ ...expiration, deadline: this.#clock.now() + EXPIRY_RETRY_MS });
          else
            this.#logger.warn('store: deleting an expired key failed', {
              key: expiration.key,
              err: error,
            });
        },
      );
    }
  }
}

function closedError(): StorageError {
  return new StorageError('Closed', 'the store is closed');
}
