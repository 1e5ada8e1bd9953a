// The clients' end: handlers for in-process transports (../in-process.ts) that send each request to
// the API server's thread.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { MessagePort } from 'node:worker_threads';
import * as apierrors from '#machinery/apierrors.ts';
import { inNextTurn } from '#machinery/pending-work.ts';
import { TransientMap } from '#machinery/collections/transient-map.ts';
import { WatchQueue, type WatchEventType } from '#machinery/watch.ts';
import type { InProcessHandler, InProcessRequest, InProcessResponse } from '../in-process.ts';
import { BatchMemory } from './batch-memory.ts';
import { FairGate, type Lane } from './fair-gate.ts';
import {
  type Batch,
  BatchReader,
  type Failure,
  KEPT_OBJECTS,
  Outbox,
  type SentBody,
  type SentItems,
  type ThreadUser,
  type ToClients,
  type ToServer,
} from './protocol.ts';
import {
  ListedObject,
  type ObjectSharing,
  ReceivedObject,
  WatchedObject,
} from './received-object.ts';
import { SiblingParts } from './shared-parts.ts';
import { WeakStateMemo } from './state-memo.ts';

interface WatchedEvent {
  readonly type: WatchEventType;
  readonly object: ReceivedObject;
}

type ReceivedBatch = Batch<ToClients>;

interface UnparsedBatch {
  readonly items: readonly ListedObject[];
  readonly batch: ReceivedBatch;
}

/** A call in flight. */
interface Call {
  /** Resolves the request; undefined once it has its response. */
  answered: ((response: InProcessResponse) => void) | undefined;
  readonly failed: (err: unknown) => void;
  readonly warnings: string[];
  /** The items received so far of a list that arrives in several messages. */
  items?: ListedObject[];
  events?: WatchQueue<WatchedEvent>;
  chunks?: WatchQueue<Uint8Array>;
  /** Stops listening to the caller's signal. */
  release: () => void;
  /**
   * Called when the request has its response, or was aborted: another request may be sent.
   * Idempotent.
   */
  leave: () => void;
}

/**
 * The number of writes in flight. The API server handles 200 writes and 400 reads at a time, for all
 * clients.
 */
const MAX_IN_FLIGHT = 200;
/**
 * The number of reads in flight, beside those; a watch counts until it has begun. Reads do not wait
 * behind writes: they are few, and work waits for them. The first list of a ConfigMap, without which
 * a pod does not start, would wait for the turns of thousands of writes.
 */
const MAX_READS_IN_FLIGHT = 100;
/**
 * The number of writes of Events in flight, beside those: one while others are in flight. They are
 * the least urgent requests, and there are three or four for each pod that starts, which are written
 * after the pods are ready. An idle API server answers a thousand a second.
 */
const MAX_EVENTS_IN_FLIGHT = 4;

/** The paths of Events. */
const EVENTS = /^\/(?:api\/v1|apis\/events\.k8s\.io\/v1)\/namespaces\/[^/]+\/events(?:\/|$)/;

/**
 * Clients of an API server in another thread. Objects of lists and watches lack
 * metadata.managedFields (without-managed-fields.ts).
 */
export class ThreadClients {
  readonly #port: MessagePort;
  readonly #outbox: Outbox<ToServer>;
  readonly #calls = new TransientMap<number, Call>();
  readonly #gate = new FairGate(MAX_IN_FLIGHT);
  readonly #readGate = new FairGate(MAX_READS_IN_FLIGHT);
  readonly #eventGate = new FairGate(() => (this.#gate.isBusy ? 1 : MAX_EVENTS_IN_FLIGHT));
  /** The latest objects of watches: number n is at n % KEPT_OBJECTS. */
  readonly #objects: ReceivedObject[] = [];
  #seen = 0;
  readonly #sharing: ObjectSharing;
  /** Batches with items of long lists that are not parsed yet, oldest first. */
  readonly #unparsed: UnparsedBatch[] = [];
  #nextId = 0;
  #callers = 0;
  #closed = false;

  /**
   * `port` is for these clients alone. It keeps the thread alive until close(). `sharing`: what is
   * missing is shared.
   */
  constructor(port: MessagePort, sharing: Partial<ObjectSharing> = {}) {
    this.#port = port;
    this.#sharing = {
      states: sharing.states ?? new WeakStateMemo(),
      parts: sharing.parts ?? new SiblingParts(),
    };
    // Requests have no bytes.
    this.#outbox = new Outbox(port, new BatchMemory(0));
    port.on('message', (batch: ReceivedBatch) => this.#receive(batch));
    port.on('close', () => this.close());
  }

  /** Returns a handler for createInProcessTransport, whose requests are made by this user. */
  handlerOf(user: ThreadUser): InProcessHandler {
    const caller = this.#callers++;
    this.#outbox.send({ kind: 'caller', caller, user });
    const lane: Lane = user.groups.includes('system:nodes') ? 'node' : 'control';
    return (request) => this.#call(caller, lane, request);
  }

  /** Fails the calls in flight, and all later ones. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#port.close();
    for (const id of this.#calls.keys()) this.#end(id, { message: 'the API server has gone' });
  }

  #call(caller: number, lane: Lane, request: InProcessRequest): Promise<InProcessResponse> {
    if (this.#closed) return Promise.reject(errorOf({ message: 'the API server has gone' }));
    const { method, path, query, headers, body, call, warnings } = request;
    const id = this.#nextId++;
    // The object is encoded now, although the request may have to wait: the caller may modify it
    // later.
    const text = body.object === undefined ? undefined : stringifyJson(body.object);
    return new Promise<InProcessResponse>((answered, failed) => {
      let sent = false;
      const entered: Call = {
        answered,
        failed,
        warnings,
        release: () => undefined,
        leave: () => undefined,
      };
      this.#calls.set(id, entered);
      const gate = this.#gateOf(request);
      const withdraw = gate.enter(lane, caller, () => {
        sent = true;
        if (!this.#closed) {
          this.#outbox.send({
            kind: 'request',
            id,
            caller,
            method,
            path,
            query: query.toString(),
            headers,
            body: text,
          });
        }
      });
      entered.leave = () => {
        entered.leave = () => undefined;
        if (!withdraw()) gate.leave();
      };
      entered.release = call.onAbort(() => {
        this.#calls.delete(id);
        entered.leave();
        if (sent) this.#outbox.send({ kind: 'abort', id });
        failed(call.reason);
      });
    });
  }

  #gateOf({ method, path }: InProcessRequest): FairGate {
    if (method === 'GET') return this.#readGate;
    return EVENTS.test(path) ? this.#eventGate : this.#gate;
  }

  #receive(batch: ReceivedBatch): void {
    const reader = new BatchReader(batch);
    const listed: ListedObject[] = [];
    for (const message of batch.messages) this.#take(message, reader, listed);
    if (listed.length === 0) this.#taken(batch);
    else if (this.#unparsed.push({ items: listed, batch }) === 1) this.#parseLater();
  }

  /** Nothing reads the bytes of the batch any more. */
  #taken({ bytes }: ReceivedBatch): void {
    if (this.#closed || bytes === undefined) return;
    this.#outbox.giveBack(bytes.buffer);
    this.#outbox.send({ kind: 'taken', bytes: bytes.length });
  }

  /**
   * Parses the first items of long lists, those of one batch in each turn of the event loop. Their
   * bytes count as taken only then: several lists of all pods would otherwise be in memory as bytes
   * until each is complete.
   */
  #parseLater(): void {
    inNextTurn(() => {
      const [first] = this.#unparsed;
      if (first === undefined || this.#closed) return;
      for (const item of first.items) item.prepare();
      this.#unparsed.shift();
      this.#taken(first.batch);
      if (this.#unparsed.length > 0) this.#parseLater();
    });
  }

  /** Takes a message. Items of long lists are added to `listed`. */
  #take(message: ToClients, reader: BatchReader, listed: ListedObject[]): void {
    // The caller may have aborted. The bytes must be skipped nevertheless.
    const call = this.#calls.get(message.id);
    switch (message.kind) {
      case 'answer': {
        const body = this.#bodyOf(message.id, message.body, call, reader);
        if (call === undefined) break;
        call.warnings.push(...message.warnings);
        call.answered?.({ code: message.code, body });
        call.answered = undefined;
        call.leave();
        if (body.kind !== 'watch' && body.kind !== 'stream') this.#forget(message.id, call);
        break;
      }
      case 'items': {
        const items = this.#itemsOf(message.items, reader);
        if (call === undefined) break;
        call.items ??= [];
        for (const item of items) {
          call.items.push(item);
          listed.push(item);
        }
        break;
      }
      case 'events': {
        const { type, lengths } = message;
        for (const length of lengths) {
          const object = new WatchedObject(reader.take(length), this.#sharing);
          this.#objects[this.#seen++ % KEPT_OBJECTS] = object;
          call?.events?.push({ type, object });
        }
        break;
      }
      case 'again': {
        const object = this.#objects[(this.#seen - message.ago) % KEPT_OBJECTS]!;
        call?.events?.push({ type: message.type, object });
        break;
      }
      case 'chunk': {
        const chunk = Buffer.from(reader.take(message.length));
        call?.chunks?.push(chunk);
        break;
      }
      case 'end':
        this.#end(message.id, message.failure);
    }
  }

  #bodyOf(
    id: number,
    body: SentBody,
    call: Call | undefined,
    reader: BatchReader,
  ): InProcessResponse['body'] {
    switch (body.kind) {
      case 'object':
        return { kind: 'object', object: new ReceivedObject(reader.take(body.length).toString()) };
      case 'bytes':
        return { kind: 'bytes', bytes: Buffer.from(reader.take(body.length)) };
      case 'list': {
        const { kind, apiVersion, listKind, metadata } = body;
        const last = this.#itemsOf(body.items, reader);
        if (call !== undefined) for (const item of last) item.prepare();
        const items = call?.items === undefined ? last : [...call.items, ...last];
        return { kind, apiVersion, listKind, metadata, items };
      }
      case 'watch': {
        const events = new WatchQueue<WatchedEvent>({ onStop: () => this.#giveUp(id) });
        if (call !== undefined) call.events = events;
        return { kind: 'watch', events };
      }
      case 'stream': {
        const stream = new WatchQueue<Uint8Array>({ onStop: () => this.#giveUp(id) });
        if (call !== undefined) call.chunks = stream;
        return { kind: 'stream', stream };
      }
      default:
        return body;
    }
  }

  #itemsOf({ lengths, states }: SentItems, reader: BatchReader): ListedObject[] {
    return lengths.map(
      (length, index) => new ListedObject(reader.take(length), this.#sharing, states[index] ?? 0),
    );
  }

  #giveUp(id: number): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#forget(id, call);
    this.#outbox.send({ kind: 'abort', id });
  }

  #end(id: number, failure: Failure | undefined): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#forget(id, call);
    if (call.answered !== undefined)
      call.failed(errorOf(failure ?? { message: 'the call ended without an answer' }));
    for (const queue of [call.events, call.chunks]) {
      if (failure === undefined) queue?.close();
      else queue?.fail(errorOf(failure));
    }
  }

  #forget(id: number, call: Call): void {
    this.#calls.delete(id);
    call.leave();
    call.release();
  }
}

function errorOf({ status, message }: Failure): Error {
  return status === undefined
    ? apierrors.serviceUnavailable(message)
    : apierrors.fromStatus(status);
}
