// One stream of a SPDY connection, as a Duplex: end() sends our FIN, 'end' is the peer's FIN.

import { Duplex } from 'node:stream';
import type { Headers } from './header-compression.ts';

/** The part of a connection that its streams use. */
export interface StreamTransport {
  /** Sends data, or only a FIN if there is none. Calls `done` when the socket has accepted it. */
  sendData(
    streamId: number,
    data: Buffer | undefined,
    fin: boolean,
    done: (err?: Error | null) => void,
  ): void;
  /** Resets the stream, whatever data was still to come. */
  sendReset(streamId: number): void;
  /** Reports that the stream's buffer has room again. */
  resumeReading(stream: SpdyStream): void;
  /** Reports that the stream is over on both sides. */
  forget(stream: SpdyStream): void;
}

/** The other side has reset the stream that is written to. */
export class SpdyStreamResetError extends Error {
  override readonly name = 'SpdyStreamResetError';
  readonly code = 'ECONNRESET';
}

/** The number of bytes of one stream that are buffered before the connection stops reading. */
const READ_BUFFER = 256 * 1024;
/** The most data in one frame, so that the streams of a connection take turns. */
const MAX_DATA = 64 * 1024;

export class SpdyStream extends Duplex {
  readonly id: number;
  /** The headers with which the stream was opened. Names are in lower case. */
  readonly headers: Headers;
  readonly #transport: StreamTransport;
  #sentFin = false;
  #receivedFin = false;
  /** The stream is closed on the wire. Received data can still be read. */
  #reset = false;

  constructor(id: number, headers: Headers, transport: StreamTransport) {
    super({
      allowHalfOpen: true,
      readableHighWaterMark: READ_BUFFER,
      writableHighWaterMark: MAX_DATA,
    });
    this.id = id;
    this.headers = headers;
    this.#transport = transport;
  }

  /** Returns the first value of a header; undefined if there is none. */
  header(name: string): string | undefined {
    return this.headers[name.toLowerCase()]?.[0];
  }

  /**
   * Called by the connection when data or a FIN has arrived. Returns true if the connection should
   * stop reading for now.
   */
  receive(data: Buffer, fin: boolean): boolean {
    if (this.#receivedFin || this.#reset || this.destroyed) return false;
    const full = data.length > 0 && !this.push(data);
    if (fin) {
      this.#receivedFin = true;
      this.push(null);
    }
    return full;
  }

  /**
   * Called by the connection when the other side has reset the stream, or the connection is over.
   * Received data can still be read.
   */
  receiveReset(): void {
    if (this.#reset) return;
    this.#reset = true;
    if (!this.#receivedFin) this.push(null);
    // Destroying a stream drops its buffer and its end, so it waits for the reader.
    if (this.readableEnded) this.destroy();
    else this.once('end', () => this.destroy());
  }

  override _read(): void {
    this.#transport.resumeReading(this);
  }

  override _write(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (err?: Error | null) => void,
  ): void {
    if (this.#reset) {
      done(new SpdyStreamResetError(`stream ${this.id} was closed by the other side`));
    } else if (chunk.length <= MAX_DATA) {
      this.#transport.sendData(this.id, chunk, false, done);
    } else {
      this.#transport.sendData(this.id, chunk.subarray(0, MAX_DATA), false, (err) =>
        err ? done(err) : this._write(chunk.subarray(MAX_DATA), _encoding, done),
      );
    }
  }

  override _final(done: (err?: Error | null) => void): void {
    if (this.#reset) return done();
    this.#sentFin = true;
    this.#transport.sendData(this.id, undefined, true, done);
  }

  override _destroy(err: Error | null, done: (err?: Error | null) => void): void {
    if (!this.#reset && !(this.#sentFin && this.#receivedFin)) {
      this.#reset = true;
      this.#transport.sendReset(this.id);
    }
    this.#transport.forget(this);
    done(err);
  }
}
