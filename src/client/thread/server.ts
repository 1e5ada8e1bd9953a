// The server's end: the API server's chain serves calls from another thread as it serves those of
// its own.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { MessagePort } from 'node:worker_threads';
import * as apierrors from '#machinery/apierrors.ts';
import type { Logger } from '#machinery/log.ts';
import { TransientMap } from '#machinery/collections/transient-map.ts';
import { LinkedAbort } from '../abort.ts';
import type {
  Encoded,
  InProcessHandler,
  InProcessRequest,
  InProcessResponse,
} from '../in-process.ts';
import { BatchMemory } from './batch-memory.ts';
import {
  type Batch,
  type Failure,
  KEPT_OBJECTS,
  Outbox,
  type Part,
  partOf,
  type SentBody,
  type SentItems,
  type ThreadUser,
  type ToClients,
  type ToServer,
} from './protocol.ts';
import { nextTurn } from '#machinery/turn.ts';

export interface ThreadServerConfig {
  /** The port, which no other server uses. */
  readonly port: MessagePort;
  /** Returns the API server's chain after authentication, for this user. */
  readonly handlerOf: (user: ThreadUser) => InProcessHandler;
  readonly logger: Logger;
  /**
   * The number of bytes in flight at which watches and bodies start to wait. A thread that does not
   * keep up loses its watches, as any slow client does. Default: 16 MB.
   */
  readonly window?: number;
}

type Watched = Extract<InProcessResponse['body'], { kind: 'watch' }>;
type WatchedEvent = Watched['events'] extends AsyncIterable<infer E> ? E : never;
type Listed = Extract<InProcessResponse['body'], { kind: 'list' }>;
type Streamed = Extract<InProcessResponse['body'], { kind: 'stream' }>;

/**
 * The bytes of buffers that are kept, of those in flight. As many batches as fill the window need at
 * most twice its size, since the sizes of buffers are powers of two: so lists that follow each other
 * make no buffers that become garbage.
 */
const KEPT_OF_WINDOW = 2;
/** The number of items of a list in one message. */
const LIST_SLICE = 250;

export class ThreadServer {
  readonly #config: ThreadServerConfig;
  readonly #outbox: Outbox<ToClients>;
  readonly #memory: BatchMemory;
  readonly #handlers = new Map<number, InProcessHandler>();
  readonly #calls = new TransientMap<number, LinkedAbort>();
  /** The number of each object that was sent for a watch. */
  readonly #sent = new WeakMap<Encoded, number>();
  #objects = 0;
  /** The number of bytes in flight. */
  #bytesInFlight = 0;
  #waiting: (() => void)[] = [];

  constructor(config: ThreadServerConfig) {
    this.#config = config;
    this.#memory = new BatchMemory(KEPT_OF_WINDOW * this.#window);
    this.#outbox = new Outbox(config.port, this.#memory);
  }

  /** Starts to serve calls, until the port is closed. Called once. */
  start(): void {
    const { port } = this.#config;
    port.on('message', ({ messages, returned = [] }: Batch<ToServer>) => {
      for (const buffer of returned) this.#memory.keep(buffer);
      for (const message of messages) this.#take(message);
    });
    // The other thread has ended: its calls have no caller any more.
    port.on('close', () => {
      for (const call of this.#calls.values())
        call.abort(apierrors.serviceUnavailable('the client has gone'));
      this.#resume();
    });
  }

  #take(message: ToServer): void {
    switch (message.kind) {
      case 'request':
        void this.#answer(message);
        break;
      case 'abort':
        this.#calls.get(message.id)?.abort();
        break;
      case 'caller':
        this.#handlers.set(message.caller, this.#config.handlerOf(message.user));
        break;
      case 'taken':
        this.#bytesInFlight -= message.bytes;
        if (this.#bytesInFlight < this.#window) this.#resume();
    }
  }

  /** Serves a request. Never rejects. */
  async #answer(message: Extract<ToServer, { kind: 'request' }>): Promise<void> {
    const { id, caller } = message;
    const call = new LinkedAbort();
    this.#calls.set(id, call);
    try {
      const request = new IncomingRequest(message, call);
      const { code, body } = await this.#handlers.get(caller)!(request);
      if (call.aborted) {
        if (body.kind === 'watch') body.events.stop();
        return;
      }
      const rest = body.kind === 'list' ? await this.#sendFirstItems(id, body, call) : body;
      if (call.aborted) return;
      this.#sendAnswer(id, code, request.warnings, rest);
      if (body.kind === 'watch') await this.#sendEvents(id, body, call);
      else if (body.kind === 'stream') await this.#sendChunks(id, body, call);
    } catch (error) {
      if (!call.aborted) this.#outbox.send({ kind: 'end', id, failure: this.#failureOf(error) });
    } finally {
      this.#calls.delete(id);
    }
  }

  /**
   * Sends the items of a long list in several messages, each in its own turn of the event loop: a
   * list of all pods must not delay other requests until it is copied. Returns the list with the
   * remaining items, for the response.
   */
  async #sendFirstItems(id: number, body: Listed, call: LinkedAbort): Promise<Listed> {
    const { items } = body;
    let from = 0;
    for (; items.length - from > LIST_SLICE; from += LIST_SLICE) {
      if (call.aborted) return body;
      const slice = this.#encode(items.slice(from, from + LIST_SLICE));
      this.#send({ kind: 'items', id, items: slice.sent }, ...slice.parts);
      if (this.#bytesInFlight >= this.#window) await this.#room();
      else await nextTurn();
    }
    return from === 0 ? body : { ...body, items: items.slice(from) };
  }

  #encode(items: readonly Encoded[]): {
    readonly sent: SentItems;
    readonly parts: readonly Part[];
  } {
    const parts = items.map(jsonOf);
    const lengths = parts.map(({ length }) => length);
    return { sent: { lengths, states: items.map(({ state = 0 }) => state) }, parts };
  }

  #sendAnswer(
    id: number,
    code: number,
    warnings: readonly string[],
    body: InProcessResponse['body'],
  ): void {
    const answer = (sent: SentBody, ...parts: readonly Part[]): void =>
      this.#send({ kind: 'answer', id, code, warnings, body: sent }, ...parts);
    switch (body.kind) {
      case 'object': {
        const json = jsonOf(body.object);
        answer({ kind: 'object', length: json.length }, json);
        break;
      }
      case 'list': {
        const { kind, apiVersion, listKind, metadata } = body;
        const { sent, parts } = this.#encode(body.items);
        answer({ kind, apiVersion, listKind, metadata, items: sent }, ...parts);
        break;
      }
      case 'bytes':
        answer({ kind: 'bytes', length: body.bytes.length }, partOf(body.bytes));
        break;
      case 'watch':
      case 'stream':
        answer({ kind: body.kind });
        break;
      default:
        answer(body);
    }
  }

  async #sendEvents(id: number, { events }: Watched, call: LinkedAbort): Promise<void> {
    call.onAbort(() => events.stop());
    for await (const event of events) {
      this.#sendWatched(id, event);
      if (this.#bytesInFlight >= this.#window) await this.#room();
      for (const next of events.drain?.() ?? []) {
        this.#sendWatched(id, next);
        if (this.#bytesInFlight >= this.#window) await this.#room();
      }
    }
    if (!call.aborted) this.#outbox.send({ kind: 'end', id });
  }

  #sendWatched(id: number, { type, object }: WatchedEvent): void {
    const at = this.#sent.get(object);
    if (at !== undefined && this.#objects - at <= KEPT_OBJECTS) {
      this.#send({ kind: 'again', id, type, ago: this.#objects - at });
      return;
    }
    const json = jsonOf(object);
    this.#sent.set(object, this.#objects++);
    const { last } = this.#outbox;
    if (last?.kind === 'events' && last.id === id && last.type === type) {
      last.lengths.push(json.length);
      this.#bytesInFlight += json.length;
      this.#outbox.extend(json);
    } else this.#send({ kind: 'events', id, type, lengths: [json.length] }, json);
  }

  async #sendChunks(id: number, { stream }: Streamed, call: LinkedAbort): Promise<void> {
    for await (const chunk of stream) {
      if (call.aborted) return;
      this.#send({ kind: 'chunk', id, length: chunk.length }, partOf(chunk));
      if (this.#bytesInFlight >= this.#window) await this.#room();
    }
    this.#outbox.send({ kind: 'end', id });
  }

  #send(message: ToClients, ...parts: readonly Part[]): void {
    for (const { length } of parts) this.#bytesInFlight += length;
    this.#outbox.send(message, ...parts);
  }

  get #window(): number {
    return this.#config.window ?? 16 * 1024 * 1024;
  }

  #room(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #resume(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }

  #failureOf(err: unknown): Failure {
    if (err instanceof apierrors.StatusError) return { message: err.message, status: err.status };
    const message = errorMessage(err);
    this.#config.logger.error('a call from another thread failed', { err });
    return { message };
  }
}

class IncomingRequest implements InProcessRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: InProcessRequest['headers'];
  readonly body: InProcessRequest['body'];
  readonly remoteAddress = '127.0.0.1';
  readonly warnings: string[] = [];
  readonly call: LinkedAbort;

  constructor(
    { method, path, query, headers, body }: Extract<ToServer, { kind: 'request' }>,
    call: LinkedAbort,
  ) {
    this.method = method;
    this.path = path;
    this.query = new URLSearchParams(query);
    this.headers = headers;
    this.body = { kind: 'object', object: body === undefined ? undefined : JSON.parse(body) };
    this.call = call;
  }

  get signal(): AbortSignal {
    return this.call.signal;
  }
}

/** Returns the stored JSON if the object has it: it is neither decoded nor encoded for a thread. */
function jsonOf(object: Encoded): Part {
  if (object.itemLength === undefined || object.copyItem === undefined)
    return partOf(Buffer.from(stringifyJson(object.object())));
  return {
    length: object.itemLength(true),
    copyTo: (target, at) => void object.copyItem?.(target, at, true),
  };
}
