// The client of a storage channel: the storage contract on the storage of another process.

import type { Duplex } from 'node:stream';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import type { Logger } from '#machinery/log.ts';
import { mapWatch, WatchQueue, type WatchStream } from '#machinery/watch.ts';
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
import { readEvent, weightOfEvent } from './events.ts';
import { type FrameBody, FrameError, FrameReader, FrameWriter } from './frames.ts';
import * as protocol from './protocol.ts';

export interface ChannelStorageConfig {
  /** Connects to the server. The storage owns it. */
  readonly stream: Duplex;
  readonly logger: Logger;
  /** How much of a watch may wait for its consumer here. Default: 1000 events, 8 MiB. */
  readonly window?: Partial<protocol.Window>;
}

const WINDOW: protocol.Window = { events: 1000, bytes: 8 * 1024 * 1024 };

/** A call that waits for its result. */
interface Call {
  readonly resolve: (body: FrameBody) => void;
  readonly reject: (error: unknown) => void;
  readonly isWrite: boolean;
  /** The items that have arrived of a list. */
  readonly items?: KeyValue[];
}

/** A state of a key. A guess may be stale. */
interface Seen {
  readonly kv: KeyValue | undefined;
  readonly isGuess: boolean;
}

/**
 * Opens the storage. Rejects with StorageError if the channel ends or the store does, with Error if
 * the server is of another version.
 */
export async function openChannelStorage(config: ChannelStorageConfig): Promise<Storage> {
  const storage = new ChannelStorage(config);
  try {
    await storage.open();
  } catch (error) {
    await storage.close();
    throw error;
  }
  return storage;
}

class ChannelStorage implements Storage {
  readonly #stream: Duplex;
  readonly #frames: FrameWriter;
  readonly #window: protocol.Window;
  readonly #calls = new Map<number, Call>();
  readonly #watches = new Map<number, WatchQueue<StorageEvent>>();
  readonly #contended = new KeyedMutex();
  #lastCall = 0;
  /** The newest revision that a result has shown. */
  #latest: Revision = 0;
  /** The channel has ended. */
  #end: StorageError | undefined;
  sizeBytes?: () => Promise<number>;

  constructor({ stream, logger, window }: ChannelStorageConfig) {
    this.#stream = stream;
    this.#frames = new FrameWriter(stream);
    this.#window = { ...WINDOW, ...window };
    const reader = new FrameReader((body) => this.#receive(body));
    const broken = (): void => this.#fail('the channel to the store has ended', 'Unavailable');
    stream.on('data', (chunk: Buffer) => {
      try {
        reader.read(chunk);
      } catch (error) {
        logger.error('storage channel: invalid frame, closing', { err: error });
        broken();
      }
    });
    stream.on('error', (error) => logger.debug('storage channel: failed', { err: error }));
    stream.on('end', broken);
    stream.on('close', broken);
  }

  /** Once, before anything else. */
  async open(): Promise<void> {
    const hello = await this.#call(protocol.HELLO, () => this.#frames.u32(protocol.VERSION));
    this.#saw(hello.number());
    if (hello.u8() === 1)
      this.sizeBytes = async () => (await this.#call(protocol.SIZE, () => undefined)).number();
  }

  async get(key: string, options: GetOptions = {}): Promise<KeyValue | undefined> {
    assertKey(key);
    const body = await this.#call(protocol.GET, () =>
      this.#frames.text(key).number(options.revision ?? 0),
    );
    return protocol.readOptional(body, () => protocol.readKeyValue(body));
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    assertPrefix(prefix);
    const items: KeyValue[] = [];
    const { revision = 0, limit = 0, startAfter } = options;
    const body = await this.#call(
      protocol.LIST,
      () => {
        this.#frames.text(prefix).number(revision).number(limit);
        protocol.writeOptional(this.#frames, startAfter, (value) => this.#frames.text(value));
      },
      { items },
    );
    const listed = { items, revision: body.number(), remaining: body.number() };
    this.#saw(listed.revision);
    return listed;
  }

  /** There are no indexes: the watch cache in front of this storage has. */
  addIndex(definition: IndexDefinition): StorageIndex {
    return {
      list: (value, options) =>
        listByScan((prefix, page) => this.list(prefix, page), definition, value, options),
      close: () => undefined,
    };
  }

  async count(prefix: string): Promise<number> {
    assertPrefix(prefix);
    return (await this.#call(protocol.COUNT, () => this.#frames.text(prefix))).number();
  }

  async currentRevision(): Promise<Revision> {
    const revision = (await this.#call(protocol.REVISION, () => undefined)).number();
    this.#saw(revision);
    return revision;
  }

  async create(
    key: string,
    value: Uint8Array,
    options: { readonly ttlMs?: number } = {},
  ): Promise<KeyValue> {
    assertKey(key);
    const ttlMs = checkedTtl(options.ttlMs);
    const body = await this.#write(protocol.CREATE, () =>
      this.#frames.text(key).number(ttlMs).bytes(value),
    );
    const revision = body.number();
    this.#saw(revision);
    return { key, value, createRevision: revision, modRevision: revision };
  }

  async guaranteedUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    options: { readonly guess?: KeyValue } = {},
  ): Promise<UpdateResult> {
    assertKey(key);
    this.#checkOpen();
    const seen = options.guess === undefined ? undefined : { kv: options.guess, isGuess: true };
    const first = await this.#tryUpdate(key, update, seen);
    if ('result' in first) return first.result;
    // Many writers of a key here take turns: they would cost a round trip for each attempt.
    return this.#contended.run(key, async () => {
      let newer: Seen | undefined;
      for (;;) {
        const outcome = await this.#tryUpdate(key, update, newer);
        if ('result' in outcome) return outcome.result;
        newer = outcome.seen;
      }
    });
  }

  /**
   * Tries the update once, from a known state (absent: reads it first). Returns the newer state if
   * the key has changed.
   */
  async #tryUpdate(
    key: string,
    update: (current: KeyValue | undefined) => UpdateDecision | Promise<UpdateDecision>,
    known: Seen | undefined,
  ): Promise<{ readonly result: UpdateResult } | { readonly seen: Seen }> {
    const { kv: current, isGuess } = known ?? { kv: await this.get(key), isGuess: false };
    let decision: UpdateDecision;
    try {
      decision = await update(current);
    } catch (error) {
      this.#checkOpen();
      if (!isGuess) throw error;
      // A stale guess decides nothing.
      const present = await this.get(key);
      if (present?.modRevision === current?.modRevision) throw error;
      return { seen: { kv: present, isGuess: false } };
    }
    return this.#swap(key, current, decision);
  }

  /** Makes the decision in the store, where the key has to be what `current` is. */
  async #swap(
    key: string,
    current: KeyValue | undefined,
    decision: UpdateDecision,
  ): Promise<{ readonly result: UpdateResult } | { readonly seen: Seen }> {
    const frames = this.#frames;
    const ttlMs = decision.action === 'put' ? checkedTtl(decision.ttlMs) : 0;
    const send = (): void => {
      frames.text(key).number(current?.modRevision ?? 0);
      if (decision.action === 'put') frames.u8(protocol.PUT).number(ttlMs).bytes(decision.value);
      else if (decision.action === 'delete' && current !== undefined) frames.u8(protocol.REMOVE);
      // The store may have a reason to write a value again: see EncryptedStorage.
      else frames.u8(protocol.KEEP);
    };
    const body = await this.#write(protocol.SWAP, send);
    const outcome = body.u8();
    const revision = body.number();
    this.#saw(revision);
    if (outcome === protocol.CHANGED) {
      const kv = protocol.readOptional(body, () => protocol.readKeyValue(body));
      return { seen: { kv, isGuess: false } };
    }
    const revisions = protocol.readOptional(body, () => ({
      createRevision: body.number(),
      modRevision: body.number(),
    }));
    if (revisions === undefined) return { result: { previous: current, revision } };
    const value = decision.action === 'put' ? decision.value : current?.value;
    if (value === undefined) throw new FrameError('a result has the revisions of no value');
    const kv =
      current?.modRevision === revisions.modRevision ? current : { key, value, ...revisions };
    return { result: { kv, previous: current, revision } };
  }

  async delete(
    key: string,
    options: { readonly expectedRevision?: Revision } = {},
  ): Promise<{ readonly previous: KeyValue; readonly revision: Revision }> {
    assertKey(key);
    const body = await this.#write(protocol.DELETE, () =>
      this.#frames.text(key).number(options.expectedRevision ?? -1),
    );
    const deleted = { previous: protocol.readKeyValue(body), revision: body.number() };
    this.#saw(deleted.revision);
    return deleted;
  }

  watch(prefix: string, options: WatchOptions = {}): WatchStream<StorageEvent> {
    assertPrefix(prefix);
    const queue = new WatchQueue<StorageEvent>({ onStop: () => this.#stopWatch(call) });
    const call = this.#nextCall();
    if (this.#end !== undefined) {
      queue.fail(this.#end);
      return queue;
    }
    this.#watches.set(call, queue);
    // Without a revision the watch begins after the newest one that this process has seen, so it
    // has every write after this call.
    this.#frames
      .begin(protocol.WATCH, call)
      .text(prefix)
      .number(options.afterRevision || this.#latest)
      .number(options.progressIntervalMs ?? 0)
      .u32(this.#window.events)
      .number(this.#window.bytes)
      .end();
    return this.#credited(call, queue);
  }

  /** Returns the stream. The server sends more when its events were taken. */
  #credited(call: number, queue: WatchQueue<StorageEvent>): WatchStream<StorageEvent> {
    const window = this.#window;
    let events = 0;
    let bytes = 0;
    return mapWatch(queue, (event) => {
      events++;
      bytes += weightOfEvent(event);
      const isDue = events * 4 >= window.events || bytes * 4 >= window.bytes;
      if (isDue && this.#watches.has(call)) {
        this.#frames.begin(protocol.CREDIT, call).u32(events).number(bytes).end();
        events = 0;
        bytes = 0;
      }
      return event;
    });
  }

  #stopWatch(call: number): void {
    if (this.#watches.delete(call)) this.#frames.begin(protocol.STOP_WATCH, call).end();
  }

  async compact(revision: Revision): Promise<void> {
    if (!Number.isSafeInteger(revision))
      throw new TypeError(`storage: ${revision} is not a revision`);
    await this.#call(protocol.COMPACT, () => this.#frames.number(revision));
  }

  requestProgress(): void {
    if (this.#end === undefined) this.#frames.begin(protocol.PROGRESS, 0).end();
  }

  async health(): Promise<void> {
    await this.#call(protocol.HEALTH, () => undefined);
  }

  async close(): Promise<void> {
    this.#fail('the store is closed', 'Closed');
  }

  #checkOpen(): void {
    if (this.#end !== undefined) throw this.#end;
  }

  #saw(revision: Revision): void {
    if (revision > this.#latest) this.#latest = revision;
  }

  #nextCall(): number {
    this.#lastCall = (this.#lastCall + 1) >>> 0;
    return this.#lastCall;
  }

  #write(type: number, write: () => void): Promise<FrameBody> {
    return this.#call(type, write, { isWrite: true });
  }

  /** Sends a call. Resolves with the body of its result. */
  #call(
    type: number,
    write: () => unknown,
    options: { readonly isWrite?: boolean; readonly items?: KeyValue[] } = {},
  ): Promise<FrameBody> {
    return new Promise((resolve, reject) => {
      this.#checkOpen();
      const call = this.#nextCall();
      this.#calls.set(call, { isWrite: false, ...options, resolve, reject });
      this.#frames.begin(type, call);
      write();
      this.#frames.end();
    });
  }

  #receive(body: FrameBody): void {
    const { call } = body;
    switch (body.type) {
      case protocol.EVENT:
        this.#watches.get(call)?.push(readEvent(body));
        break;
      case protocol.END:
        this.#watches.get(call)?.close();
        this.#watches.delete(call);
        break;
      case protocol.PART: {
        const items = this.#calls.get(call)?.items;
        for (let count = body.u32(); count > 0; count--) items?.push(protocol.readKeyValue(body));
        break;
      }
      case protocol.RESULT:
        this.#calls.get(call)?.resolve(body);
        this.#calls.delete(call);
        break;
      case protocol.ERROR:
      case protocol.FAULT: {
        const error = protocol.readError(body);
        this.#calls.get(call)?.reject(error);
        this.#calls.delete(call);
        this.#watches.get(call)?.fail(error);
        this.#watches.delete(call);
        break;
      }
      default:
        throw new FrameError(`an unknown frame of type ${body.type}`);
    }
  }

  /**
   * Ends everything. `ofWrites`: the reason for writes without a result, which may have been made.
   * All else gets Closed.
   */
  #fail(message: string, ofWrites: 'Unavailable' | 'Closed'): void {
    if (this.#end !== undefined) return;
    this.#end = new StorageError('Closed', message);
    for (const { isWrite, reject } of this.#calls.values())
      reject(isWrite ? new StorageError(ofWrites, `${message}: it may have been made`) : this.#end);
    this.#calls.clear();
    for (const queue of this.#watches.values()) queue.fail(this.#end);
    this.#watches.clear();
    this.#stream.destroy();
  }
}

/** Returns 0 for none. */
function checkedTtl(ttlMs: number | undefined): number {
  if (ttlMs !== undefined && !(ttlMs > 0))
    throw new TypeError(`storage: a time to live must be more than 0 ms, not ${ttlMs}`);
  return ttlMs ?? 0;
}
