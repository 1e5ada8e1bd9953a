// One stream of a SPDY connection, as a Duplex: end() is the FIN of our direction, 'end' the FIN of theirs.

import { Duplex } from 'node:stream';
import type { Headers } from './header-compression.ts';

/** The part of a connection that its streams use. */
export interface StreamTransport {
  /** Sends data, or only a FIN if there is none; `done` when the socket has taken it. */
  sendData(
    streamId: number,
    data: Buffer | undefined,
    fin: boolean,
    done: (err?: Error | null) => void,
  ): void;
  /** Tells the other side that the stream is over, whatever was still to come. */
  sendReset(streamId: number): void;
  /** The stream's buffer has room again. */
  resumeReading(stream: SpdyStream): void;
  /** The stream is over on both sides. */
  forget(stream: SpdyStream): void;
}

/** Writing to a stream that the other side has given up. */
export class SpdyStreamResetError extends Error {
  override readonly name = 'SpdyStreamResetError';
  readonly code = 'ECONNRESET';
}

/** How much of one stream is buffered before the whole connection stops reading. */
const READ_BUFFER = 256 * 1024;
/** The most data in one frame, so that the streams of a connection take turns. */
const MAX_DATA = 64 * 1024;

export class SpdyStream extends Duplex {
  readonly id: number;
  /** The headers that the stream was opened with. Names in lower case. */
  readonly headers: Headers;
  readonly #transport: StreamTransport;
  #sentFin = false;
  #receivedFin = false;
  /** The stream is dead on the wire; what has arrived can still be read. */
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

  /** The one value of a header, or undefined. */
  header(name: string): string | undefined {
    return this.headers[name.toLowerCase()]?.[0];
  }

  /** For the connection: data or a FIN has arrived. True if the connection should stop reading for now. */
  receive(data: Buffer, fin: boolean): boolean {
    if (this.#receivedFin || this.#reset || this.destroyed) return false;
    const full = data.length > 0 && !this.push(data);
    if (fin) {
      this.#receivedFin = true;
      this.push(null);
    }
    return full;
  }

  /** For the connection: the other side has reset the stream, or the connection is gone. What arrived can still be read. */
  receiveReset(): void {
    if (this.#reset) return;
    this.#reset = true;
    if (!this.#receivedFin) this.push(null);
    // Destroying drops what is buffered, and the end with it, so it waits for the reader.
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
