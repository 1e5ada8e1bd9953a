// A request of HTTP/1.1 whose body is kept as the parser hands it over. Node's own is a stream, with listeners, turns of the queue and an
// end that is told later: more work than most requests are, for bodies that are all read whole.

import { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** So much is kept of a body that nobody has asked for yet; then its client has to wait. */
const UNASKED_BYTES = 64 * 1024;

const EMPTY = Buffer.alloc(0);

export interface BodyWaiter {
  /** Called for each chunk that comes, with the length of all so far. False: what there is and what still comes is not wanted. */
  grows(length: number): boolean;
  /** All of it has come. */
  ended(): void;
}

export class CollectedMessage extends IncomingMessage {
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #ended = false;
  #unwanted = false;
  #waiter: BodyWaiter | undefined;
  #discarding: { left: number; readonly tooMuch: () => void } | undefined;
  /** Gets the body as it arrives, if stream() was called. */
  #stream: Readable | undefined;
  /** Called if the connection breaks before the response has been sent. */
  whenBroken: (() => void) | undefined;

  /** Whether all of the body has come. */
  get ended(): boolean {
    return this.#ended;
  }

  /** What has come. */
  body(): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && this.#chunks.length > 1)
      this.#chunks.splice(0, Infinity, Buffer.concat(this.#chunks, this.#length));
    return this.#chunks[0] ?? EMPTY;
  }

  /** Has the rest of the body come. Of one that has not ended; called once. */
  wait(waiter: BodyWaiter): void {
    this.#waiter = waiter;
    if (this.#length > 0 && !waiter.grows(this.#length)) this.#drop();
    // The connection may have been stopped for the client's having sent a lot already.
    this._read(0);
  }

  /** Returns the body as it arrives. Called at most once, and not together with wait(). */
  stream(): Readable {
    const body = new Readable({
      // Node's parser stopped the connection when the stream was full.
      read: () => this._read(0),
      destroy: (error, callback) => {
        this.#stream = undefined;
        if (!this.#ended) this.#drop();
        callback(error);
      },
    });
    for (const chunk of this.#chunks.splice(0)) body.push(chunk);
    if (this.#ended) body.push(null);
    else if (this.destroyed) body.destroy(new Error('the body of the request ended early'));
    else this.#stream = body;
    return body;
  }

  /** Drops the rest of the body. Calls `tooMuch` once if that is more than `limit` bytes. Called after the response. */
  discard(limit: number, tooMuch: () => void): void {
    this.#drop();
    const announced = Number(this.headers['content-length'] ?? 0);
    if (announced - this.#length > limit) {
      tooMuch();
      return;
    }
    this.#discarding = { left: limit, tooMuch };
    this._read(0);
  }

  /** Called by Node's parser: with null at the end. False: the connection is not to be read from for now. */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#ended = true;
      // Tells Node that somebody has taken care of the body.
      this._read(0);
      this.#waiter?.ended();
      this.#stream?.push(null);
      if (this.listenerCount('end') > 0) this.emit('end');
      return false;
    }
    if (this.#unwanted) {
      const discarding = this.#discarding;
      if (discarding !== undefined && (discarding.left -= chunk.length) < 0) {
        this.#discarding = undefined;
        discarding.tooMuch();
      }
      return true;
    }
    if (this.#stream !== undefined) return this.#stream.push(chunk);
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#waiter === undefined) return this.#length < UNASKED_BYTES;
    if (!this.#waiter.grows(this.#length)) this.#drop();
    return true;
  }

  /** Called by Node when the connection has gone. A listener for each request would cost more than to be called. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.whenBroken?.();
    if (!this.#ended) this.#stream?.destroy(new Error('the body of the request ended early'));
    super._destroy(error, callback);
  }

  #drop(): void {
    this.#unwanted = true;
    this.#chunks.length = 0;
  }
}

// Node asks this when the response has been sent. Defined like this because its type says that it is no accessor.
Object.defineProperty(CollectedMessage.prototype, 'readableEnded', {
  get(this: CollectedMessage): boolean {
    return this.ended;
  },
});
