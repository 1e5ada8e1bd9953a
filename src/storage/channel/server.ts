// The server of a storage channel: it executes a client's calls on the storage of this process.

import type { Duplex } from 'node:stream';
import type { Logger } from '#machinery/log.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import type { KeyValue, Storage, UpdateDecision } from '../interface.ts';
import { type FrameBody, FrameError, FrameReader, FrameWriter } from './frames.ts';
import * as protocol from './protocol.ts';
import { writeKeyValue, writeOptional } from './protocol.ts';
import { WatchFeed } from './watch-feed.ts';

export interface ServeStorageConfig {
  /**
   * The storage. It stays open. Its state is in this process: when a read has returned a revision,
   * the events up to it wait in its watches. All engines here and the watch cache promise that.
   */
  readonly storage: Storage;
  /** Connects to the client. Both ends trust each other: there is no authentication. */
  readonly stream: Duplex;
  readonly logger: Logger;
}

export interface ServedStorage {
  /** Resolves when the channel has ended, by either side. */
  readonly closed: Promise<void>;
  /** Ends the channel. The client's operations fail. Idempotent. */
  close(): void;
}

/** While more bytes wait for the client, calls are not read, and watches do not go on. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** A list is sent in parts of about this size. */
const PART_BYTES = 256 * 1024;

/** Serves the storage until the stream ends. */
export function serveStorage(config: ServeStorageConfig): ServedStorage {
  const server = new ChannelServer(config);
  return { closed: server.closed, close: () => server.close() };
}

class ChannelServer {
  readonly #storage: Storage;
  readonly #stream: Duplex;
  readonly #logger: Logger;
  readonly #frames: FrameWriter;
  /** Running watches, by the calls that began them. */
  readonly #watches = new Map<number, WatchFeed>();
  /** Resolves when waiting bytes were sent. Undefined: nothing waits for it. */
  #drained: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  readonly #closed = withResolvers();

  constructor({ storage, stream, logger }: ServeStorageConfig) {
    this.#storage = storage;
    this.#stream = stream;
    this.#logger = logger;
    this.#frames = new FrameWriter(stream);
    const reader = new FrameReader((body) => this.#receive(body));
    stream.on('data', (chunk: Buffer) => {
      try {
        reader.read(chunk);
      } catch (error) {
        logger.error('storage channel: invalid frame, closing', { err: error });
        this.close();
      }
      this.#holdBack();
    });
    stream.on('drain', () => this.#drain());
    stream.on('error', (error) => logger.debug('storage channel: failed', { err: error }));
    stream.on('end', () => this.close());
    stream.on('close', () => this.close());
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
    this.#stream.destroy();
    this.#drain();
    this.#closed.resolve();
  }

  /** Stops reading while too much waits for the client. */
  #holdBack(): void {
    const room = this.#room();
    if (room === undefined) return;
    this.#stream.pause();
    void room.then(() => this.#stream.resume());
  }

  #room(): Promise<void> | undefined {
    if (this.#stream.destroyed || this.#frames.waitingBytes <= MAX_WAITING_BYTES) return undefined;
    this.#frames.flush();
    // Without this the stream emits no 'drain'.
    if (!this.#stream.writableNeedDrain) return undefined;
    this.#drained ??= withResolvers();
    return this.#drained.promise;
  }

  #drain(): void {
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.resolve();
  }

  #receive(body: FrameBody): void {
    const { call } = body;
    switch (body.type) {
      case protocol.WATCH:
        this.#watch(body);
        break;
      case protocol.STOP_WATCH:
        this.#watches.get(call)?.stop();
        break;
      case protocol.CREDIT:
        this.#watches.get(call)?.credit(body.u32(), body.number());
        break;
      case protocol.PROGRESS:
        void this.#progress();
        break;
      default:
        this.#answer(call, this.#operation(body));
    }
  }

  /** Starts an operation. Returns a promise of what writes the body of its result. */
  #operation(body: FrameBody): Promise<(() => void) | undefined> {
    const storage = this.#storage;
    const frames = this.#frames;
    switch (body.type) {
      case protocol.HELLO: {
        const version = body.u32();
        if (version !== protocol.VERSION)
          return Promise.reject(
            new Error(`the channel has version ${protocol.VERSION}, the client ${version}`),
          );
        return storage.currentRevision().then((revision) => () => {
          frames.number(revision).u8(storage.sizeBytes === undefined ? 0 : 1);
        });
      }
      case protocol.GET: {
        const [key, revision] = [body.text(), body.number()];
        return storage.get(key, { revision }).then((kv) => () => {
          writeOptional(frames, kv, (value) => writeKeyValue(frames, value));
        });
      }
      case protocol.LIST:
        return this.#list(body);
      case protocol.COUNT:
        return storage.count(body.text()).then((count) => () => frames.number(count));
      case protocol.CREATE: {
        const [key, ttlMs] = [body.text(), body.number()];
        return storage
          .create(key, body.bytes(), ttlMs === 0 ? {} : { ttlMs })
          .then((kv) => () => frames.number(kv.modRevision));
      }
      case protocol.SWAP:
        return this.#swap(body);
      case protocol.DELETE: {
        const [key, expected] = [body.text(), body.number()];
        return storage
          .delete(key, expected < 0 ? {} : { expectedRevision: expected })
          .then(({ previous, revision }) => () => {
            writeKeyValue(frames, previous);
            frames.number(revision);
          });
      }
      case protocol.COMPACT:
        return storage.compact(body.number()).then(() => undefined);
      case protocol.REVISION:
        return storage.currentRevision().then((revision) => () => frames.number(revision));
      case protocol.SIZE:
        return (storage.sizeBytes?.() ?? Promise.resolve(0)).then((size) => () => {
          frames.number(size);
        });
      case protocol.HEALTH:
        return storage.health().then(() => undefined);
      default:
        throw new FrameError(`an unknown frame of type ${body.type}`);
    }
  }

  #answer(call: number, operation: Promise<(() => void) | undefined>): void {
    operation.then(
      (write) => {
        this.#frames.begin(protocol.RESULT, call);
        write?.();
        this.#frames.end();
      },
      (error: unknown) => protocol.writeError(this.#frames, call, error),
    );
  }

  async #list(body: FrameBody): Promise<() => void> {
    const { call } = body;
    const [prefix, revision, limit] = [body.text(), body.number(), body.number()];
    const startAfter = protocol.readOptional(body, () => body.text());
    const frames = this.#frames;
    const list = await this.#storage.list(prefix, { revision, limit, startAfter });
    let next = 0;
    while (next < list.items.length) {
      const from = next;
      let bytes = 0;
      while (next < list.items.length && bytes < PART_BYTES) {
        const { key, value } = list.items[next++]!;
        bytes += key.length + value.length;
      }
      frames.begin(protocol.PART, call).u32(next - from);
      for (const kv of list.items.slice(from, next)) writeKeyValue(frames, kv);
      frames.end();
      await this.#room();
    }
    return () => frames.number(list.revision).number(list.remaining);
  }

  async #swap(body: FrameBody): Promise<() => void> {
    const [key, expected, action] = [body.text(), body.number(), body.u8()];
    const decision = readDecision(body, action);
    let isExpected = false;
    const { kv, revision } = await this.#storage.guaranteedUpdate(key, (current) => {
      isExpected = (current?.modRevision ?? 0) === expected;
      return isExpected ? decision : { action: 'keep' };
    });
    const frames = this.#frames;
    return () => {
      frames.u8(isExpected ? protocol.DONE : protocol.CHANGED).number(revision);
      if (isExpected) writeRevisions(frames, kv);
      else writeOptional(frames, kv, (value) => writeKeyValue(frames, value));
    };
  }

  #watch(body: FrameBody): void {
    const { call } = body;
    const [prefix, afterRevision, intervalMs] = [body.text(), body.number(), body.number()];
    const window = { events: body.u32(), bytes: body.number() };
    const hasProgress = intervalMs > 0;
    let feed: WatchFeed;
    try {
      feed = new WatchFeed({
        call,
        prefix,
        stream: this.#storage.watch(prefix, {
          afterRevision,
          ...(hasProgress && { progressIntervalMs: intervalMs }),
        }),
        progress: hasProgress,
        window,
        frames: this.#frames,
        room: () => this.#room(),
      });
    } catch (error) {
      protocol.writeError(this.#frames, call, error);
      return;
    }
    this.#watches.set(call, feed);
    void feed.run().then(() => this.#watches.delete(call));
  }

  /** Sends progress of the present state to all watches that have received it. */
  async #progress(): Promise<void> {
    this.#storage.requestProgress?.();
    const send = async (watch: WatchFeed): Promise<void> => {
      // A list, because its revision is one that the watch has reached.
      const { revision } = await this.#storage.list(watch.prefix, { limit: 1 });
      await watch.progress(revision);
    };
    try {
      await Promise.all([...this.#watches.values()].map(send));
    } catch (error) {
      // The client's reads go to this store then.
      this.#logger.debug('storage channel: no progress', { err: error });
    }
  }
}

function readDecision(body: FrameBody, action: number): UpdateDecision {
  switch (action) {
    case protocol.KEEP:
      return { action: 'keep' };
    case protocol.REMOVE:
      return { action: 'delete' };
    case protocol.PUT: {
      const ttlMs = body.number();
      return { action: 'put', value: body.bytes(), ...(ttlMs !== 0 && { ttlMs }) };
    }
    default:
      throw new FrameError(`an unknown decision ${action}`);
  }
}

/** Writes what the client does not know of the value that is stored now. */
function writeRevisions(frames: FrameWriter, kv: KeyValue | undefined): void {
  writeOptional(frames, kv, ({ createRevision, modRevision }) =>
    frames.number(createRevision).number(modRevision),
  );
}
