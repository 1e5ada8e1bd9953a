// One connection of an HTTP/2 client (RFC 9113) that sends requests whose bodies are known, and
// reads responses. It does what Node's `http2` would do with a quarter of the processor time: a
// request is one buffer, and the requests of one turn are one write. See decision 13.
//
// Not supported, because no server of gRPC needs it: server push, priorities, frames of more than 16
// KB, and dynamic tables of headers.

import type { Duplex } from 'node:stream';
import { Fifo } from '#machinery/collections/fifo.ts';
import {
  CANCEL,
  FLAG,
  FRAME,
  frame,
  type Frame,
  FrameReader,
  HEADER_BYTES,
  INITIAL_WINDOW,
  MAX_PAYLOAD,
  MAX_WINDOW,
  numberFrame,
  PREFACE,
  PROTOCOL_ERROR,
  SETTING,
  settingsFrame,
  writeFrameHeader,
} from './frames.ts';
import { type Field, FieldDecoder } from './hpack.ts';

/** Receives a response. Nothing is called after `end` or `failed`. */
export interface ResponseHandler {
  /** Called with the header fields, and again with the trailers. */
  fields(fields: readonly Field[]): void;
  /** Called with a part of the body, which is valid during the call. */
  data(part: Buffer): void;
  /** Called when the response is complete. */
  end(): void;
  failed(error: Error): void;
}

/** A request; ClientConnection changes it. */
export interface Exchange {
  /** The header block. */
  readonly block: Buffer;
  readonly body: Buffer;
  readonly handler: ResponseHandler;
  /** 0 until it is sent. */
  stream: number;
  /** The number of bytes of the body that were sent. */
  sent: number;
  /** The number of bytes of the body that the server has room for. */
  window: number;
  /** The number of received bytes that the server was not given room for again. */
  received: number;
}

export interface ClientConnectionConfig {
  /** An open connection, after the handshake of TLS. The connection owns it. */
  readonly socket: Duplex;
  /** The room for the body of one response, and for those of all responses, in bytes. */
  readonly streamWindow: number;
  readonly connectionWindow: number;
  /** Called once when no further request may be sent on this connection. */
  readonly onLeave: () => void;
}

/** The bytes of header blocks that are split into several frames. */
const MAX_BLOCK_BYTES = 65_536;
const MAX_STREAM = 2 ** 31 - 1;
const NOTHING = Buffer.alloc(0);

export class ClientConnection {
  readonly #config: ClientConnectionConfig;
  readonly #reader = new FrameReader((received) => this.#take(received));
  readonly #fields = new FieldDecoder();
  /** Requests that were sent and have no complete response. */
  readonly #exchanges = new Map<number, Exchange>();
  /** Requests that wait for the server's settings, or for another one to end. */
  readonly #waiting = new Fifo<Exchange>();
  /** Requests whose bodies wait for room. */
  readonly #blocked = new Set<Exchange>();
  readonly #pings: (() => void)[] = [];
  #outgoing: Buffer[] = [];
  #isFlushPlanned = false;
  #nextStream = 1;
  #isReady = false;
  #maxStreams = Number.POSITIVE_INFINITY;
  #initialWindow = INITIAL_WINDOW;
  #window = INITIAL_WINDOW;
  /** See Exchange.received. */
  #received = 0;
  /** A header block whose last part has not arrived. */
  #partial: { readonly stream: number; readonly flags: number; block: Buffer } | undefined;
  /** No further request is sent. */
  #isLeaving = false;
  #isDestroyed = false;

  constructor(config: ClientConnectionConfig) {
    this.#config = config;
    const { socket, streamWindow, connectionWindow } = config;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy(new Error('the connection ended')));
    socket.on('end', () => this.destroy(new Error('the connection ended')));
    this.#send(PREFACE);
    this.#send(
      settingsFrame([
        [SETTING.headerTableSize, 0],
        [SETTING.enablePush, 0],
        [SETTING.initialWindowSize, streamWindow],
      ]),
    );
    this.#send(numberFrame(FRAME.windowUpdate, 0, connectionWindow - INITIAL_WINDOW));
  }

  /** The number of requests without a complete response. */
  get pending(): number {
    return this.#exchanges.size + this.#waiting.length;
  }

  /** Sends a request. Returns it, for `cancel`. The handler is called later. */
  request(block: Buffer, body: Buffer, handler: ResponseHandler): Exchange {
    const exchange = { block, body, handler, stream: 0, sent: 0, window: 0, received: 0 };
    if (this.#isReady && this.#exchanges.size < this.#maxStreams && this.#waiting.length === 0)
      this.#begin(exchange);
    else this.#waiting.push(exchange);
    return exchange;
  }

  /** Ends a request without a response. Its handler is not called any more. Idempotent. */
  cancel(exchange: Exchange): void {
    const { stream } = exchange;
    if (stream === 0) {
      // It is left out when its turn comes.
      exchange.stream = -1;
      return;
    }
    if (!this.#exchanges.has(stream)) return;
    this.#forget(exchange);
    this.#send(numberFrame(FRAME.reset, stream, CANCEL));
  }

  /** Sends a ping. `answered` is called with the server's answer. */
  ping(answered: () => void): void {
    this.#pings.push(answered);
    this.#send(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
  }

  /** Closes the connection. All requests fail with the error. Idempotent. */
  destroy(error: Error): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#leave();
    this.#config.socket.destroy();
    const failed = [...this.#exchanges.values(), ...this.#takeWaiting()];
    this.#exchanges.clear();
    this.#blocked.clear();
    for (const { handler } of failed) handler.failed(error);
  }

  *#takeWaiting(): Generator<Exchange> {
    for (let each = this.#waiting.shift(); each !== undefined; each = this.#waiting.shift())
      if (each.stream === 0) yield each;
  }

  #leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#config.onLeave();
  }

  #beginWaiting(): void {
    if (!this.#isReady || this.#isLeaving) return;
    while (this.#exchanges.size < this.#maxStreams) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (next.stream === 0) this.#begin(next);
    }
  }

  #begin(exchange: Exchange): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    exchange.stream = stream;
    exchange.window = this.#initialWindow;
    this.#exchanges.set(stream, exchange);
    const { block, body } = exchange;
    const fits = body.length <= Math.min(MAX_PAYLOAD, exchange.window, this.#window);
    const data = fits ? HEADER_BYTES + body.length : 0;
    const bytes = Buffer.allocUnsafe(HEADER_BYTES + block.length + data);
    const headers = { length: block.length, type: FRAME.headers, flags: FLAG.endHeaders, stream };
    let at = writeFrameHeader(bytes, 0, headers);
    bytes.set(block, at);
    at += block.length;
    if (fits) {
      const { length } = body;
      at = writeFrameHeader(bytes, at, {
        length,
        type: FRAME.data,
        flags: FLAG.endStream,
        stream,
      });
      bytes.set(body, at);
      exchange.sent = length;
      exchange.window -= length;
      this.#window -= length;
    }
    this.#send(bytes);
    if (!fits) this.#sendBody(exchange);
    // The numbers of streams are used up after a billion requests.
    if (this.#nextStream > MAX_STREAM) this.#leaveWaiting();
  }

  /** Fails what was not sent, and sends nothing more. */
  #leaveWaiting(): void {
    this.#leave();
    for (const { handler } of this.#takeWaiting())
      handler.failed(new Error('the connection takes no further requests'));
    this.#endIfIdle();
  }

  #sendBody(exchange: Exchange): void {
    const { body, stream } = exchange;
    while (exchange.sent < body.length) {
      const room = Math.min(MAX_PAYLOAD, exchange.window, this.#window);
      if (room <= 0) {
        this.#blocked.add(exchange);
        return;
      }
      const part = body.subarray(exchange.sent, exchange.sent + room);
      exchange.sent += part.length;
      exchange.window -= part.length;
      this.#window -= part.length;
      const flags = exchange.sent === body.length ? FLAG.endStream : 0;
      this.#send(frame(FRAME.data, flags, stream, part));
    }
    this.#blocked.delete(exchange);
  }

  #forget(exchange: Exchange): void {
    this.#exchanges.delete(exchange.stream);
    this.#blocked.delete(exchange);
    this.#beginWaiting();
    this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (this.#isLeaving && this.pending === 0 && !this.#isDestroyed)
      this.destroy(new Error('the connection ended'));
  }

  /** Queues bytes. Those of one turn are written together, after all promises have settled. */
  #send(bytes: Buffer): void {
    if (this.#isDestroyed) return;
    this.#outgoing.push(bytes);
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    process.nextTick(() => {
      this.#isFlushPlanned = false;
      const parts = this.#outgoing;
      this.#outgoing = [];
      if (this.#isDestroyed) return;
      this.#config.socket.write(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
    });
  }

  #receive(chunk: Buffer): void {
    if (this.#isDestroyed) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      const problem = error instanceof Error ? error : new Error(String(error));
      this.destroy(new Error(`the server violates HTTP/2: ${problem.message}`, { cause: error }));
    }
  }

  /** Processes a frame. Throws Error for what a server must not send. */
  #take(received: Frame): void {
    if (this.#isDestroyed) return;
    const { type, flags, stream, payload } = received;
    if (this.#partial !== undefined && type !== FRAME.continuation)
      throw new Error('a header block is interrupted');
    switch (type) {
      case FRAME.data:
        this.#takeData(received);
        break;
      case FRAME.headers:
        this.#takeBlock(stream, flags, withoutPriority(flags, withoutPadding(flags, payload)));
        break;
      case FRAME.continuation: {
        const partial = this.#partial;
        if (partial?.stream !== stream) throw new Error('a header block has no beginning');
        this.#partial = undefined;
        const block = Buffer.concat([partial.block, payload]);
        this.#takeBlock(stream, partial.flags | (flags & FLAG.endHeaders), block);
        break;
      }
      case FRAME.reset: {
        const exchange = this.#exchanges.get(stream);
        if (exchange === undefined) break;
        const error = new Error(`the stream was reset with error ${numberOf(payload)}`);
        this.#forget(exchange);
        exchange.handler.failed(error);
        break;
      }
      case FRAME.settings:
        this.#takeSettings(flags, payload);
        break;
      case FRAME.ping:
        if (payload.length !== 8) throw new Error('a ping has the wrong length');
        if ((flags & FLAG.ack) === 0) this.#send(frame(FRAME.ping, FLAG.ack, 0, payload));
        else this.#pings.shift()?.();
        break;
      case FRAME.goAway:
        this.#takeGoAway(payload);
        break;
      case FRAME.windowUpdate:
        this.#takeWindowUpdate(stream, numberOf(payload) & MAX_WINDOW);
        break;
      case FRAME.pushPromise:
        throw new Error('push is disabled');
      default:
      // Frames of unknown types are ignored, as are priorities.
    }
  }

  #takeData({ flags, stream, payload }: Frame): void {
    const { connectionWindow, streamWindow } = this.#config;
    this.#received += payload.length;
    if (this.#received > connectionWindow / 2) {
      this.#send(numberFrame(FRAME.windowUpdate, 0, this.#received));
      this.#received = 0;
    }
    const exchange = this.#exchanges.get(stream);
    // The request was cancelled.
    if (exchange === undefined) return;
    exchange.handler.data(withoutPadding(flags, payload));
    if ((flags & FLAG.endStream) !== 0) {
      this.#complete(exchange);
      return;
    }
    exchange.received += payload.length;
    if (exchange.received > streamWindow / 2) {
      this.#send(numberFrame(FRAME.windowUpdate, stream, exchange.received));
      exchange.received = 0;
    }
  }

  #takeBlock(stream: number, flags: number, block: Buffer): void {
    if ((flags & FLAG.endHeaders) === 0) {
      if (block.length > MAX_BLOCK_BYTES) throw new Error('a header block is too long');
      // The payload is valid during the call only.
      this.#partial = { stream, flags, block: Buffer.from(block) };
      return;
    }
    // Blocks of cancelled requests need not be decoded: there is no table that they would change.
    const exchange = this.#exchanges.get(stream);
    if (exchange === undefined) return;
    exchange.handler.fields(this.#fields.decode(block));
    if ((flags & FLAG.endStream) !== 0) this.#complete(exchange);
  }

  #complete(exchange: Exchange): void {
    // The response is complete before the request is: the rest of the body is not wanted.
    if (exchange.sent < exchange.body.length)
      this.#send(numberFrame(FRAME.reset, exchange.stream, CANCEL));
    this.#forget(exchange);
    exchange.handler.end();
  }

  #takeSettings(flags: number, payload: Buffer): void {
    if ((flags & FLAG.ack) !== 0) return;
    if (payload.length % 6 !== 0) throw new Error('settings have the wrong length');
    for (let at = 0; at < payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      switch (payload.readUInt16BE(at)) {
        case SETTING.maxConcurrentStreams:
          this.#maxStreams = value;
          break;
        case SETTING.initialWindowSize: {
          if (value > MAX_WINDOW) throw new Error('a window is too large');
          for (const exchange of this.#exchanges.values())
            exchange.window += value - this.#initialWindow;
          this.#initialWindow = value;
          break;
        }
        default:
        // The table of headers and the length of frames may be larger than those used here.
      }
    }
    this.#send(frame(FRAME.settings, FLAG.ack, 0, NOTHING));
    this.#isReady = true;
    this.#beginWaiting();
    this.#sendBlocked();
  }

  /** The server serves the requests up to a number, and no others. */
  #takeGoAway(payload: Buffer): void {
    const last = numberOf(payload) & MAX_WINDOW;
    this.#leaveWaiting();
    const code = payload.length < 8 ? PROTOCOL_ERROR : payload.readUInt32BE(4);
    for (const exchange of this.#exchanges.values()) {
      if (exchange.stream <= last) continue;
      this.#forget(exchange);
      exchange.handler.failed(new Error(`the server closes the connection with error ${code}`));
    }
    this.#endIfIdle();
  }

  #takeWindowUpdate(stream: number, increment: number): void {
    if (increment === 0) throw new Error('a window grows by nothing');
    if (stream === 0) {
      this.#window += increment;
      if (this.#window > MAX_WINDOW) throw new Error('a window is too large');
      this.#sendBlocked();
      return;
    }
    const exchange = this.#exchanges.get(stream);
    if (exchange === undefined) return;
    exchange.window += increment;
    if (exchange.window > MAX_WINDOW) throw new Error('a window is too large');
    if (this.#blocked.has(exchange)) this.#sendBody(exchange);
  }

  #sendBlocked(): void {
    for (const exchange of this.#blocked) {
      if (this.#window <= 0) return;
      this.#sendBody(exchange);
    }
  }
}

function withoutPadding(flags: number, payload: Buffer): Buffer {
  if ((flags & FLAG.padded) === 0) return payload;
  const padding = payload[0] ?? 0;
  if (padding >= payload.length) throw new Error('padding is longer than its frame');
  return payload.subarray(1, payload.length - padding);
}

function withoutPriority(flags: number, payload: Buffer): Buffer {
  return (flags & FLAG.priority) === 0 ? payload : payload.subarray(5);
}

/** Returns the number of 32 bits with which a payload begins. Throws Error if it is too short. */
function numberOf(payload: Buffer): number {
  if (payload.length < 4) throw new Error('a frame is too short');
  return payload.readUInt32BE(0);
}
