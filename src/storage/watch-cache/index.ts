// A storage with a copy of its objects in memory, which one watch keeps up to date. Gets, lists and
// watches are served from the copy. They are never stale: each read asks the store for its revision
// (concurrent reads share the request) and waits until the copy has reached it. Writes go to the
// store, with the copy's value as the first guess.
//
// Reads that the copy cannot serve go to the store itself: reads of a past revision, and all reads
// while the copy is filled.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { Link, LinkedList } from '#machinery/collections/linked-list.ts';
import { forEachEvent, type WatchStream } from '#machinery/watch.ts';
import {
  type GetOptions,
  type IndexDefinition,
  type IndexListOptions,
  type IndexListResult,
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
import { assertKey, assertPrefix } from '../mvcc/key-order.ts';
import { WatchHub } from '../mvcc/watch-hub.ts';
import { CacheState } from './state.ts';

export interface WatchCacheConfig {
  /** The store behind the cache. The cache owns and closes it. */
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Only keys with this prefix, which ends in '/', are cached. Default: '/', which covers every key
   * that begins with a slash.
   */
  readonly prefix?: string;
  /** The number of events that are kept for watchers that resume. Default: 10,000. */
  readonly maxEvents?: number;
  /** The maximum number of bytes of values that only these events keep. Default: 64 MiB. */
  readonly maxEventBytes?: number;
  /**
   * The number of events that may wait for a watcher, beyond the past events that it asked for,
   * before it is cut off. Default: 10,000.
   */
  readonly watchBufferEvents?: number;
  /** How long a read waits for the copy before it goes to the store, in ms. Default: 3 s. */
  readonly maxWaitMs?: number;
  /**
   * How long a read waits, in ms, before it requests progress, since the copy's watch may get no
   * further event. Default: 25 ms.
   */
  readonly askAfterMs?: number;
}

class Waiter extends Link {
  readonly revision: Revision;
  readonly resolve: (state: CacheState | undefined) => void;

  constructor(revision: Revision, resolve: (state: CacheState | undefined) => void) {
    super();
    this.revision = revision;
    this.resolve = resolve;
  }
}

const MAX_EVENTS = 10_000;
const MAX_EVENT_BYTES = 64 * 1024 * 1024;
const WATCH_BUFFER_EVENTS = 10_000;
const MAX_WAIT_MS = 3000;
const PROGRESS_MS = 60_000;
const ASK_AFTER_MS = 25;
const REFILL_PAUSE_MS = 1000;

/**
 * Opens the cache, and resolves when the copy is filled and follows the store. Throws the
 * StorageError that prevented the former; the store is then left open.
 */
export async function openWatchCache(config: WatchCacheConfig): Promise<WatchCache> {
  const cache = new WatchCache(config);
  await cache.fill();
  await cache.follows();
  return cache;
}

class WatchCache implements Storage {
  readonly #config: WatchCacheConfig;
  readonly #storage: Storage;
  readonly #prefix: string;
  readonly #hub: WatchHub;
  /** The copy. Undefined while it is being filled. */
  #state: CacheState | undefined;
  #watch: WatchStream<StorageEvent> | undefined;
  /** The newest revision that a response to this process has shown. */
  #latest: Revision = 0;
  readonly #waiters = new LinkedList<Waiter>();
  /**
   * The request for the store's revision that is not sent yet. Reads that start before it is sent
   * share it.
   */
  #nextCheck: Promise<Revision> | undefined;
  #check: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** Resolves with the first progress of the watch. */
  readonly #followed = withResolvers();
  readonly sizeBytes?: () => Promise<number>;

  constructor(config: WatchCacheConfig) {
    this.#config = config;
    this.#storage = config.storage;
    const { storage } = config;
    if (storage.sizeBytes !== undefined) this.sizeBytes = () => storage.sizeBytes!();
    this.#prefix = config.prefix ?? '/';
    this.#hub = new WatchHub({
      clock: config.clock,
      bufferEvents: config.watchBufferEvents ?? WATCH_BUFFER_EVENTS,
      currentRevision: () => this.#state?.revision ?? 0,
    });
  }

  /** The numbers of objects and events in memory now, for measurements. */
  get sizes(): { readonly objects: number; readonly events: number } {
    return { objects: this.#state?.size ?? 0, events: this.#state?.remembered ?? 0 };
  }

  /** Lists all keys, and starts the watch from there. */
  async fill(): Promise<void> {
    const { items, revision } = await this.#storage.list(this.#prefix);
    if (this.#closed) return;
    this.#state = new CacheState(items, revision, {
      events: this.#config.maxEvents ?? MAX_EVENTS,
      bytes: this.#config.maxEventBytes ?? MAX_EVENT_BYTES,
    });
    this.#latest = Math.max(this.#latest, revision);
    this.#watch = this.#storage.watch(this.#prefix, {
      afterRevision: revision,
      progressIntervalMs: PROGRESS_MS,
    });
    void this.#follow(this.#watch, this.#state);
  }

  /**
   * Resolves when the watch has begun, or after the time that a read would wait for it. Watches of a
   * store in this process begin at once.
   */
  async follows(): Promise<void> {
    const { clock, storage, maxWaitMs = MAX_WAIT_MS } = this.#config;
    if (storage.requestProgress === undefined) return;
    const giveUp = clock.setTimer(maxWaitMs, () => this.#followed.resolve());
    await this.#followed.promise;
    giveUp.cancel();
  }

  async get(key: string, options: GetOptions = {}): Promise<KeyValue | undefined> {
    assertKey(key);
    this.#checkOpen();
    const state =
      options.revision || !key.startsWith(this.#prefix) ? undefined : await this.#current();
    return state === undefined ? await this.#storage.get(key, options) : state.get(key);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    assertPrefix(prefix);
    this.#checkOpen();
    if (prefix.startsWith(this.#prefix)) {
      const state = await this.#current();
      // The usual case is a page of a recent list whose keys have not changed since.
      const at = options.revision || state?.revision;
      if (
        state !== undefined &&
        at !== undefined &&
        at <= state.revision &&
        unchanged(state, at, prefix)
      ) {
        return { ...state.list(prefix, options), revision: at };
      }
    }
    return await this.#storage.list(prefix, options);
  }

  addIndex(definition: IndexDefinition): StorageIndex {
    assertPrefix(definition.prefix);
    const index = this.#storage.addIndex(definition);
    return {
      list: async (value, options = {}) => {
        this.#checkOpen();
        return (
          (await this.#listIndexed(definition, value, options)) ??
          (await index.list(value, options))
        );
      },
      close: () => {
        index.close();
        this.#state?.removeIndex(definition);
      },
    };
  }

  /** Lists from the copy's index. Returns undefined if the copy cannot serve the list. */
  async #listIndexed(
    definition: IndexDefinition,
    value: string,
    options: IndexListOptions,
  ): Promise<IndexListResult | undefined> {
    if (!definition.prefix.startsWith(this.#prefix)) return undefined;
    const state = await this.#current();
    if (state === undefined) return undefined;
    const index = state.indexOf(definition);
    await index.ready();
    const revision = options.revision || state.revision;
    if (revision > state.revision || revision < index.start) return undefined;
    const { within = definition.prefix, startAfter, limit } = options;
    const { keys, more, isCertain } = index.keys(value, { within, startAfter, limit, revision });
    const items = await Promise.all(
      keys.map(async (key) => {
        const kv = state.get(key);
        if (kv !== undefined && kv.modRevision <= revision) return kv;
        // The key was written since. The store has its earlier value.
        const past = await this.#storage.get(key, { revision });
        if (past === undefined)
          throw new Error(
            `watch cache: an index has ${key} at revision ${revision}, where it does not exist`,
          );
        return past;
      }),
    );
    return isCertain ? { items, revision, more, isCertain } : { items, revision, more };
  }

  async count(prefix: string): Promise<number> {
    assertPrefix(prefix);
    this.#checkOpen();
    const state = prefix.startsWith(this.#prefix) ? await this.#current() : undefined;
    return state === undefined ? await this.#storage.count(prefix) : state.count(prefix);
  }

  async create(
    key: string,
    value: Uint8Array,
    options: { readonly ttlMs?: number } = {},
  ): Promise<KeyValue> {
    const kv = await this.#storage.create(key, value, options);
    this.#saw(kv.modRevision);
    return kv;
  }

  async guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options: { readonly guess?: KeyValue } = {},
  ): Promise<UpdateResult> {
    const guess = options.guess ?? this.#state?.get(key);
    const result = await this.#storage.guaranteedUpdate(key, update, { guess });
    this.#saw(result.revision);
    return result;
  }

  async delete(
    key: string,
    options: { readonly expectedRevision?: Revision } = {},
  ): Promise<{ readonly previous: KeyValue; readonly revision: Revision }> {
    const result = await this.#storage.delete(key, options);
    this.#saw(result.revision);
    return result;
  }

  watch(prefix: string, options: WatchOptions = {}): WatchStream<StorageEvent> {
    assertPrefix(prefix);
    const state = this.#state;
    const afterRevision = options.afterRevision || Math.max(this.#latest, state?.revision ?? 0);
    if (this.#closed || state === undefined || !prefix.startsWith(this.#prefix)) {
      return this.#storage.watch(prefix, { ...options, afterRevision });
    }
    const replay = state.eventsAfter(afterRevision, prefix);
    if (replay === undefined) return this.#storage.watch(prefix, { ...options, afterRevision });
    const { progressIntervalMs } = options;
    // This process's own writes may not have reached the copy yet. Progress waits for them, so that
    // it covers them.
    const ready = progressIntervalMs === undefined ? undefined : this.#current();
    return this.#hub.subscribe(prefix, { afterRevision, replay, progressIntervalMs, ready });
  }

  async compact(revision: Revision): Promise<void> {
    await this.#storage.compact(revision);
    this.#state?.compact(revision);
  }

  async currentRevision(): Promise<Revision> {
    this.#checkOpen();
    return await this.#askRevision();
  }

  requestProgress(): void {
    this.#storage.requestProgress?.();
  }

  async health(): Promise<void> {
    await this.#storage.health();
  }

  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#watch?.stop();
      this.#abandon();
      this.#hub.failAll(new StorageError('Closed', 'the store is closed'));
    }
    await this.#storage.close();
  }

  #checkOpen(): void {
    if (this.#closed) throw new StorageError('Closed', 'the store is closed');
  }

  #saw(revision: Revision): void {
    if (revision > this.#latest) this.#latest = revision;
  }

  /**
   * Returns the copy once it is at least as new as the store was at the time of the call; undefined
   * if the store must be read.
   */
  async #current(): Promise<CacheState | undefined> {
    if (this.#state === undefined) return undefined;
    const revision = await this.#askRevision();
    return await this.#reached(revision);
  }

  #reached(revision: Revision): Promise<CacheState | undefined> | CacheState | undefined {
    const state = this.#state;
    if (state === undefined || state.revision >= revision) return state;
    const { clock, maxWaitMs = MAX_WAIT_MS, askAfterMs = ASK_AFTER_MS } = this.#config;
    return new Promise((resolve) => {
      const end = (reached: CacheState | undefined): void => {
        this.#waiters.delete(waiter);
        progressTimer.cancel();
        giveUp.cancel();
        resolve(reached);
      };
      const waiter = new Waiter(revision, end);
      const progressTimer = clock.setTimer(askAfterMs, () => this.#storage.requestProgress?.());
      const giveUp = clock.setTimer(maxWaitMs, () => end(undefined));
      this.#waiters.add(waiter);
    });
  }

  /**
   * Returns the store's revision. A request in flight may return a revision from before this call,
   * so the caller waits for the next one.
   */
  #askRevision(): Promise<Revision> {
    this.#nextCheck ??= (async () => {
      await this.#check;
      const currentRevision = this.#storage.currentRevision();
      this.#check = currentRevision.catch(() => undefined);
      this.#nextCheck = undefined;
      const revision = await currentRevision;
      this.#saw(revision);
      return revision;
    })();
    return this.#nextCheck;
  }

  async #follow(watch: WatchStream<StorageEvent>, state: CacheState): Promise<void> {
    let failure: unknown;
    try {
      await forEachEvent(watch, (event) => {
        if (event.type === 'progress') {
          state.reached(event.revision);
          this.#followed.resolve();
        } else this.#hub.publish(state.apply(event));
        this.#wake(state);
      });
    } catch (error) {
      failure = error;
    }
    if (this.#closed || this.#watch !== watch) return;
    this.#config.logger.warn('watch cache: watch ended, listing again', { err: failure });
    this.#abandon();
    // Events may be missing here, so watchers have to resume from the last revision that they
    // received.
    this.#hub.failAll(
      new StorageError(
        'Unavailable',
        'the watch on the store ended, resume from the last revision',
      ),
    );
    await this.#refill();
  }

  async #refill(): Promise<void> {
    const { clock, logger } = this.#config;
    while (!this.#closed && this.#state === undefined) {
      try {
        await this.fill();
      } catch (error) {
        logger.debug('watch cache: initial list failed, retrying', { err: error });
        await clock.sleep(REFILL_PAUSE_MS);
      }
    }
  }

  #abandon(): void {
    this.#state = undefined;
    for (const waiter of this.#waiters) waiter.resolve(undefined);
  }

  #wake(state: CacheState): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters)
      if (waiter.revision <= state.revision) waiter.resolve(state);
  }
}

function unchanged(state: CacheState, since: Revision, prefix: string): boolean {
  return since === state.revision || state.eventsAfter(since, prefix)?.length === 0;
}
