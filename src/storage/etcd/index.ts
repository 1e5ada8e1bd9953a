// The engine for clusters with more than one server: the storage contract on etcd (3.4 and later).
// Every read is linearizable. Every write is one transaction that compares the key's revision
// (writer.ts explains what happens when its response is missing).

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { WatchQueue, type WatchStream } from '#machinery/watch.ts';
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
import { listByScan } from '../list-by-scan.ts';
import { assertKey, assertPrefix } from '../mvcc/key-order.ts';
import { Compactor } from './compactor.ts';
import { closedError, EtcdConnection, type EtcdTls } from './connection.ts';
import { detailsOf, failureKind, storageErrorOf } from './errors.ts';
import { KeySpace } from './keys.ts';
import { LeasePool } from './leases.ts';
import { Marks } from './marks.ts';
import type { EtcdKeyValue, RangeRequest, RangeResponse, TxnResponse } from './schema.ts';
import { Turns } from './turns.ts';
import { hasProgressRequests } from './version.ts';
import { Watcher } from './watcher.ts';
import { Writer } from './writer.ts';

export { parseEndpoint } from './connection.ts';
export type { EtcdTls } from './connection.ts';

export interface EtcdStorageConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Endpoints such as 'https://10.0.0.1:2379'. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** The prefix of the objects in etcd, without a '/' at its end. Default: '/registry'. */
  readonly prefix?: string;
  /**
   * The prefix of every key of the store, which `prefix` replaces in etcd. Default: '/registry'.
   */
  readonly logicalPrefix?: string;
  /**
   * The number of events that may wait for a watcher, beyond the past events that it asked for,
   * before it is cut off. Default: 10,000.
   */
  readonly watchBufferEvents?: number;
  /** The compaction interval in ms. 0: this server never compacts. Default: five minutes. */
  readonly compactionIntervalMs?: number;
  /** The timeout of a call to one member, in ms. Default: 4 s. */
  readonly attemptTimeoutMs?: number;
  /** The timeout of a read and of the start, in ms. Default: 15 s. */
  readonly timeoutMs?: number;
}

const WATCH_BUFFER_EVENTS = 10_000;
/** The page size, in keys, of a list without limit. All pages are read at one revision. */
const PAGE_KEYS = 5000;
const HEALTH_TIMEOUT_MS = 2000;
const RELIST_ATTEMPTS = 5;

/** A state of a key, and the revision at which it was read. Without a revision it is a guess. */
interface Seen {
  readonly kv: KeyValue | undefined;
  readonly revision: Revision | undefined;
}

/**
 * Connects to etcd and returns the storage. Throws StorageError (Unavailable) if no member responds
 * in time; TypeError for an invalid endpoint.
 */
export async function openEtcdStorage(config: EtcdStorageConfig): Promise<Storage> {
  const connection = new EtcdConnection(config);
  try {
    const { version, header } = await connection.read('Maintenance.Status', {});
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major !== 3 || minor < 4)
      throw new StorageError('Unavailable', `etcd ${version} is too old: 3.4 or later is needed`);
    config.logger.debug('etcd: connected', { version, endpoints: config.endpoints });
    return new EtcdStorage(config, connection, {
      latest: header.revision,
      progressRequests: hasProgressRequests(version),
    });
  } catch (error) {
    connection.close();
    throw storageErrorOf(error);
  }
}

class EtcdStorage implements Storage {
  readonly #config: EtcdStorageConfig;
  readonly #connection: EtcdConnection;
  readonly #keys: KeySpace;
  readonly #leases: LeasePool;
  readonly #writer: Writer;
  readonly #compactor: Compactor | undefined;
  readonly #progressRequests: boolean;
  readonly #progressKey: Uint8Array;
  readonly #watchers = new Set<Watcher>();
  readonly #turns = new Turns();
  /** The newest revision that any response has shown. */
  #latest: Revision;
  /** The newest compaction revision that this process has seen. */
  #oldest: Revision = 0;
  #askingOldest: Promise<void> | undefined;
  #closed = false;

  constructor(
    config: EtcdStorageConfig,
    connection: EtcdConnection,
    { latest, progressRequests }: { readonly latest: Revision; readonly progressRequests: boolean },
  ) {
    const { clock, random, logger } = config;
    this.#config = config;
    this.#connection = connection;
    this.#progressRequests = progressRequests;
    this.#latest = latest;
    this.#keys = new KeySpace({
      logicalPrefix: config.logicalPrefix ?? '/registry',
      physicalPrefix: config.prefix ?? '/registry',
    });
    this.#leases = new LeasePool({ connection, clock, random });
    const process = random.uuid();
    this.#progressKey = this.#keys.own(`${process}/progress`);
    this.#writer = new Writer({
      connection,
      clock,
      leases: this.#leases,
      slotKey: (number) => this.#keys.own(`${process}/${number}`),
      marks: new Marks(process),
      range: this.#keys.everything,
      latest: () => this.#latest,
    });
    if (config.compactionIntervalMs !== 0) {
      this.#compactor = new Compactor({
        connection,
        clock,
        logger,
        intervalMs: config.compactionIntervalMs,
      });
    }
  }

  async get(key: string, options: GetOptions = {}): Promise<KeyValue | undefined> {
    assertKey(key);
    return (await this.#read(key, options.revision)).kv;
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    assertPrefix(prefix);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#listAll(prefix, options);
      } catch (error) {
        // The revision of the first page was compacted before the last page was read. The caller
        // did not ask for a revision, so the list starts again.
        const lost =
          error instanceof StorageError && error.reason === 'Expired' && !options.revision;
        if (!lost || attempt === RELIST_ATTEMPTS) throw error;
      }
    }
  }

  /** This engine has no indexes of its own: the watch cache in front of it has. */
  addIndex(definition: IndexDefinition): StorageIndex {
    return {
      list: (value, options) =>
        listByScan((prefix, page) => this.list(prefix, page), definition, value, options),
      close: () => undefined,
    };
  }

  async count(prefix: string): Promise<number> {
    assertPrefix(prefix);
    const { from, to } = this.#keys.rangeOf(prefix);
    return (await this.#range({ key: from, rangeEnd: to, countOnly: true })).count;
  }

  async currentRevision(): Promise<Revision> {
    return (await this.#range({ key: this.#progressKey, countOnly: true })).header.revision;
  }

  async create(
    key: string,
    value: Uint8Array,
    options: { readonly ttlMs?: number } = {},
  ): Promise<KeyValue> {
    assertKey(key);
    const outcome = await this.#write(key, 0, value, options.ttlMs);
    if (!outcome.written) throw new StorageError('KeyExists', `${key} exists already`, { key });
    return { key, value, createRevision: outcome.revision, modRevision: outcome.revision };
  }

  async guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options: { readonly guess?: KeyValue } = {},
  ): Promise<UpdateResult> {
    assertKey(key);
    this.#checkOpen();
    let lastSeen: Seen | undefined =
      options.guess === undefined ? undefined : { kv: options.guess, revision: undefined };
    const first = await this.#tryUpdate(key, update, lastSeen);
    if ('result' in first) return first.result;
    const end = await this.#turns.take(key);
    try {
      // The state that was read before waiting for the turn is stale.
      lastSeen = undefined;
      for (;;) {
        const outcome = await this.#tryUpdate(key, update, lastSeen);
        if ('result' in outcome) return outcome.result;
        lastSeen = outcome.seen;
      }
    } finally {
      end();
    }
  }

  /**
   * Tries the update once, starting from a known state (absent: reads it first). Returns the newer
   * state if another write won.
   */
  async #tryUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    known: Seen | undefined,
  ): Promise<{ readonly result: UpdateResult } | { readonly seen: Seen }> {
    const seen = known ?? (await this.#read(key));
    const current = seen.kv;
    let decision: UpdateDecision | undefined;
    let thrown: unknown;
    try {
      decision = await update(current);
    } catch (error) {
      thrown = error;
    }
    this.#checkOpen();
    if (
      decision === undefined ||
      decision.action === 'keep' ||
      (decision.action === 'delete' && current === undefined)
    ) {
      let { revision } = seen;
      if (revision === undefined) {
        // A guess may be stale, so only a decision about the present state counts.
        const present = await this.#read(key);
        if (present.kv?.modRevision !== current?.modRevision) return { seen: present };
        revision = present.revision;
      }
      if (decision === undefined) throw thrown;
      return { result: { kv: current, previous: current, revision } };
    }
    const value = decision.action === 'put' ? decision.value : undefined;
    const ttlMs = decision.action === 'put' ? decision.ttlMs : undefined;
    const written = await this.#write(key, current?.modRevision ?? 0, value, ttlMs);
    if (!written.written) return { seen: { kv: written.current, revision: written.revision } };
    const { revision } = written;
    if (value === undefined) return { result: { previous: current, revision } };
    const kv = {
      key,
      value,
      createRevision: current?.createRevision ?? revision,
      modRevision: revision,
    };
    return { result: { kv, previous: current, revision } };
  }

  async delete(
    key: string,
    options: { readonly expectedRevision?: Revision } = {},
  ): Promise<{ readonly previous: KeyValue; readonly revision: Revision }> {
    assertKey(key);
    const { expectedRevision } = options;
    let { kv: current } = await this.#read(key);
    for (;;) {
      if (current === undefined)
        throw new StorageError('KeyNotFound', `${key} does not exist`, { key });
      if (expectedRevision !== undefined && current.modRevision !== expectedRevision) {
        throw new StorageError(
          'Conflict',
          `${key} has revision ${current.modRevision}, not ${expectedRevision}`,
          {
            key,
            current,
          },
        );
      }
      const outcome = await this.#write(key, current.modRevision, undefined, undefined);
      if (outcome.written) return { previous: current, revision: outcome.revision };
      current = outcome.current;
    }
  }

  watch(prefix: string, options: WatchOptions = {}): WatchStream<StorageEvent> {
    assertPrefix(prefix);
    if (this.#closed) {
      const failed = new WatchQueue<StorageEvent>();
      failed.fail(closedError());
      return failed;
    }
    const { clock, logger, watchBufferEvents = WATCH_BUFFER_EVENTS } = this.#config;
    const watcher = new Watcher({
      connection: this.#connection,
      clock,
      logger,
      keys: this.#keys,
      prefix,
      // The watch starts after the newest revision that this process has seen, so it delivers every
      // write after this call.
      afterRevision: options.afterRevision || this.#latest,
      progressIntervalMs: options.progressIntervalMs,
      bufferEvents: watchBufferEvents,
      progressRequests: this.#progressRequests,
      touch: () => this.#touch(),
      onEnd: (ended) => this.#watchers.delete(ended),
    });
    if (!watcher.queue.ended) this.#watchers.add(watcher);
    return watcher.queue;
  }

  async compact(revision: Revision): Promise<void> {
    this.#checkOpen();
    if (!Number.isSafeInteger(revision))
      throw new TypeError(`storage: ${revision} is not a revision`);
    try {
      await this.#connection.read('KV.Compact', { revision });
      this.#sawCompaction(revision);
    } catch (error) {
      const kind = failureKind(error);
      // The compaction has been done already, by this call or another.
      if (kind === 'compacted') return;
      if (kind === 'future') throw await this.#future(revision);
      throw storageErrorOf(error);
    }
  }

  async sizeBytes(): Promise<number> {
    this.#checkOpen();
    try {
      return (await this.#connection.read('Maintenance.Status', {}, HEALTH_TIMEOUT_MS)).dbSize;
    } catch (error) {
      throw storageErrorOf(error);
    }
  }

  requestProgress(): void {
    for (const watcher of this.#watchers) watcher.requestProgress();
  }

  async health(): Promise<void> {
    this.#checkOpen();
    try {
      const [, { errors }] = await Promise.all([
        this.#connection.read(
          'KV.Range',
          { key: this.#progressKey, countOnly: true },
          HEALTH_TIMEOUT_MS,
        ),
        this.#connection.read('Maintenance.Status', {}, HEALTH_TIMEOUT_MS),
      ]);
      const alarm = errors.find((each) => /alarm|NOSPACE|CORRUPT/i.test(each));
      if (alarm !== undefined)
        throw new StorageError(
          alarm.includes('NOSPACE') ? 'NoSpace' : 'Unavailable',
          `etcd: ${alarm}`,
        );
    } catch (error) {
      throw storageErrorOf(error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#compactor?.stop();
    // Each watcher removes itself from the set, which is allowed during iteration.
    for (const watcher of this.#watchers) watcher.fail(closedError());
    this.#connection.close();
  }

  #checkOpen(): void {
    if (this.#closed) throw closedError();
  }

  async #write(
    key: string,
    expectedRevision: Revision,
    value: Uint8Array | undefined,
    ttlMs: number | undefined,
  ): Promise<
    | { readonly written: true; readonly revision: Revision }
    | {
        readonly written: false;
        readonly current: KeyValue | undefined;
        readonly revision: Revision;
      }
  > {
    this.#checkOpen();
    if (ttlMs !== undefined && !(ttlMs > 0))
      throw new TypeError(`storage: a time to live must be more than 0 ms, not ${ttlMs}`);
    const outcome = await this.#writer.write({
      key: this.#keys.encode(key),
      expectedRevision,
      value,
      ttlMs,
    });
    this.#saw(outcome.revision);
    return outcome.written ? outcome : { ...outcome, current: this.#decoded(outcome.current) };
  }

  async #read(
    key: string,
    revision?: Revision,
  ): Promise<{ readonly kv: KeyValue | undefined; readonly revision: Revision }> {
    const response = await this.#range({
      key: this.#keys.encode(key),
      ...(revision && { revision }),
    });
    return { kv: this.#decoded(response.kvs[0]), revision: response.header.revision };
  }

  async #listAll(prefix: string, options: ListOptions): Promise<ListResult> {
    const limit = options.limit || Number.POSITIVE_INFINITY;
    const items: KeyValue[] = [];
    let at = options.revision || 0;
    let { startAfter } = options;
    for (;;) {
      const { from, to } = this.#keys.rangeOf(prefix, startAfter);
      const wanted = Math.min(limit - items.length, PAGE_KEYS);
      // The protocol cannot express an empty range. Only the revision is needed then.
      const empty = Buffer.compare(from, to) >= 0;
      const page = await this.#range({
        key: from,
        ...(empty ? { countOnly: true } : { rangeEnd: to, limit: wanted }),
        ...(at > 0 && { revision: at }),
      });
      if (at === 0) at = page.header.revision;
      for (const kv of page.kvs) items.push(this.#keys.keyValue(kv));
      const remaining = empty ? 0 : page.count - page.kvs.length;
      if (remaining <= 0 || items.length >= limit) return { items, revision: at, remaining };
      startAfter = items.at(-1)?.key;
    }
  }

  async #range(request: RangeRequest): Promise<RangeResponse> {
    this.#checkOpen();
    const { revision = 0 } = request;
    if (!Number.isSafeInteger(revision) || revision < 0)
      throw new TypeError(`storage: ${revision} is not a revision`);
    try {
      const response = await this.#connection.read('KV.Range', request);
      this.#saw(response.header.revision);
      return response;
    } catch (error) {
      const kind = failureKind(error);
      if (kind === 'compacted') throw await this.#expired(revision);
      if (kind === 'future') throw await this.#future(revision);
      throw storageErrorOf(error);
    }
  }

  #decoded(kv: EtcdKeyValue | null | undefined): KeyValue | undefined {
    return kv === null || kv === undefined ? undefined : this.#keys.keyValue(kv);
  }

  #saw(revision: Revision): void {
    if (revision > this.#latest) this.#latest = revision;
  }

  async #future(revision: Revision): Promise<StorageError> {
    const current = await this.currentRevision();
    return new StorageError(
      'FutureRevision',
      `revision ${revision} has not been reached: the current one is ${current}`,
      {
        revision: current,
      },
    );
  }

  async #expired(revision: Revision): Promise<StorageError> {
    // One request serves all callers that wait. A caller that joined a request in flight asks
    // again, since it may have met a later compaction.
    const joined = this.#askingOldest;
    await (joined ?? this.#askOldest(revision));
    if (joined !== undefined && this.#oldest <= revision) await this.#askOldest(revision);
    const oldest = this.#oldest > revision ? this.#oldest : undefined;
    const detail = oldest === undefined ? '' : `: the oldest that can be read is ${oldest}`;
    return new StorageError('Expired', `revision ${revision} has been compacted${detail}`, {
      ...(oldest !== undefined && { revision: oldest }),
    });
  }

  /**
   * Asks etcd for the oldest readable revision, which only watches report. Without a response the
   * last value stays.
   */
  #askOldest(after: Revision): Promise<void> {
    this.#askingOldest ??= new Promise<void>((resolve) => {
      const { clock, timeoutMs = HEALTH_TIMEOUT_MS } = this.#config;
      const { call } = this.#connection.watch();
      const finish = (): void => {
        timer.cancel();
        resolve();
        call.cancel();
      };
      const timer = clock.setTimer(Math.min(timeoutMs, HEALTH_TIMEOUT_MS), finish);
      call.on('data', (response) => {
        if (response.compactRevision === 0) return;
        this.#sawCompaction(response.compactRevision);
        finish();
      });
      call.on('error', finish);
      call.write({ create: { key: this.#progressKey, startRevision: Math.max(1, after) } });
    }).finally(() => (this.#askingOldest = undefined));
    return this.#askingOldest;
  }

  #sawCompaction(revision: Revision): void {
    if (revision > this.#oldest) this.#oldest = revision;
  }

  /**
   * Writes a key that every watch without progress requests sees, so that it learns the current
   * revision.
   */
  async #touch(): Promise<void> {
    const lease = await this.#leases.leaseFor(3_600_000);
    const value = new TextEncoder().encode('progress');
    let response: TxnResponse;
    try {
      // The outcome does not matter: one visible write is enough, and several do no harm.
      response = await this.#connection.send('KV.Txn', {
        compare: [],
        success: [{ put: { key: this.#progressKey, value, lease } }],
        failure: [],
      });
    } catch (error) {
      throw new Error(detailsOf(error), { cause: error });
    }
    this.#saw(response.header.revision);
  }
}
