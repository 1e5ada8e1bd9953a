// The messages between the thread of the API server and a thread of its clients: requests and
// responses, watches, and bodies in pieces. Objects are sent as stored JSON. A batch of messages
// has one buffer for all of its bytes, which is transferred, not copied, and which the receiver
// transfers back (batch-memory.ts).

import type { MessagePort } from 'node:worker_threads';
import type { Status } from '#machinery/apierrors.ts';
import type { WatchEventType } from '#machinery/watch.ts';
import { inNextTurn } from '#machinery/pending-work.ts';
import type { BatchMemory } from './batch-memory.ts';

export interface ThreadUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A message from the clients' thread. `id`: of a call, chosen by the sender. */
export type ToServer =
  | { readonly kind: 'caller'; readonly caller: number; readonly user: ThreadUser }
  | {
      readonly kind: 'request';
      readonly id: number;
      readonly caller: number;
      readonly method: string;
      readonly path: string;
      readonly query: string;
      readonly headers: Readonly<Record<string, string | undefined>>;
      /** JSON. */
      readonly body: string | undefined;
    }
  | { readonly kind: 'abort'; readonly id: number }
  /** Acknowledges this many bytes of batches. */
  | { readonly kind: 'taken'; readonly bytes: number };

/** An object as the next `length` bytes of the batch. */
export interface SentObject {
  readonly length: number;
}

/** Items of a list. */
export interface SentItems {
  /** The number of bytes of each item. */
  readonly lengths: readonly number[];
  /** The revision of the stored state of each item: equal ones mean equal bytes. 0: it has none. */
  readonly states: readonly number[];
}

export type SentBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'text'; readonly text: string }
  | ({ readonly kind: 'object' } & SentObject)
  | ({ readonly kind: 'bytes' } & SentObject)
  | {
      readonly kind: 'list';
      readonly apiVersion: string;
      readonly listKind: string;
      readonly metadata: Readonly<Record<string, unknown>>;
      /** The last items; earlier ones were sent before. */
      readonly items: SentItems;
    }
  /** The content follows in separate messages. */
  | { readonly kind: 'watch' }
  | { readonly kind: 'stream' };

export interface Failure {
  readonly message: string;
  readonly status?: Status;
}

/** A message from the server's thread to a call. */
export type ToClients =
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly code: number;
      readonly warnings: readonly string[];
      readonly body: SentBody;
    }
  /** The first items of a list that is too long for one message, before its response. */
  | { readonly kind: 'items'; readonly id: number; readonly items: SentItems }
  /**
   * Events of one watch in a row. Their objects follow as bytes: of an object that several watches
   * get, for the first one of them.
   */
  | {
      readonly kind: 'events';
      readonly id: number;
      readonly type: WatchEventType;
      /** The lengths of the objects. The sender adds to it until the batch is sent. */
      readonly lengths: number[];
    }
  /** An event whose object was sent for another watch, that many objects of watches ago. */
  | {
      readonly kind: 'again';
      readonly id: number;
      readonly type: WatchEventType;
      readonly ago: number;
    }
  | ({ readonly kind: 'chunk'; readonly id: number } & SentObject)
  /** The end of a call, or of the watch or body that it returned. */
  | { readonly kind: 'end'; readonly id: number; readonly failure?: Failure };

export interface Batch<M> {
  readonly messages: readonly M[];
  /** The bytes of all messages, one after the other. Absent: there are none. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** The buffers of earlier batches from the receiver, which it may use again. */
  readonly returned?: readonly ArrayBuffer[];
}

/**
 * The number of objects of watches that the clients' side keeps, for further watches that receive
 * the same objects.
 */
export const KEPT_OBJECTS = 1024;

/** Bytes of a message, which are copied once: into the batch. */
export interface Part {
  readonly length: number;
  /** Writes the bytes into `target` from `at` on. Called in the next turn of the event loop. */
  copyTo(target: Buffer, at: number): void;
}

/** Returns the bytes as a part. They must not be modified during this turn. */
export function partOf(bytes: Uint8Array): Part {
  return { length: bytes.length, copyTo: (target, at) => target.set(bytes, at) };
}

/**
 * Collects the messages of one turn of the event loop: a single message costs as much as ten in a
 * batch.
 */
export class Outbox<M> {
  readonly #port: MessagePort;
  readonly #memory: Pick<BatchMemory, 'take'>;
  #messages: M[] = [];
  #parts: Part[] = [];
  #returned: ArrayBuffer[] = [];
  #size = 0;
  #scheduled = false;

  constructor(port: MessagePort, memory: Pick<BatchMemory, 'take'>) {
    this.#port = port;
    this.#memory = memory;
  }

  /** The last message, as long as it has not been sent; then it can still be changed. */
  get last(): M | undefined {
    return this.#messages.at(-1);
  }

  /** Adds bytes to the last message. */
  extend(part: Part): void {
    this.#parts.push(part);
    this.#size += part.length;
  }

  /** Adds a message. `parts`: its bytes. */
  send(message: M, ...parts: readonly Part[]): void {
    this.#messages.push(message);
    for (const part of parts) this.extend(part);
    if (this.#scheduled) return;
    this.#scheduled = true;
    inNextTurn(() => this.#flush());
  }

  /** Returns the buffer of a received batch with the next message. No view of it is valid then. */
  giveBack(buffer: ArrayBuffer): void {
    this.#returned.push(buffer);
  }

  #flush(): void {
    const bytes = this.#bytes();
    const messages = this.#messages;
    const returned = this.#returned;
    this.#messages = [];
    this.#parts = [];
    this.#returned = [];
    this.#size = 0;
    this.#scheduled = false;
    const batch: Batch<M> = {
      messages,
      ...(bytes !== undefined && { bytes }),
      ...(returned.length > 0 && { returned }),
    };
    this.#port.postMessage(batch, bytes === undefined ? returned : [bytes.buffer, ...returned]);
  }

  #bytes(): Uint8Array<ArrayBuffer> | undefined {
    if (this.#size === 0) return undefined;
    const bytes = Buffer.from(this.#memory.take(this.#size), 0, this.#size);
    let at = 0;
    for (const part of this.#parts) {
      part.copyTo(bytes, at);
      at += part.length;
    }
    return bytes;
  }
}

const NO_BYTES = Buffer.alloc(0);

/** Reads the bytes of a batch in the order of its messages. */
export class BatchReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor({ bytes }: Batch<unknown>) {
    this.#bytes =
      bytes === undefined
        ? NO_BYTES
        : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Returns the next bytes: a view that is valid until the buffer of the batch is given back. */
  take(length: number): Buffer {
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
