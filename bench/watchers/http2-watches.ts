// Watches over HTTP/2 that cost their process as little as possible, so that a benchmark of
// deliveries is about the server: one TLS connection with many streams, of which only the frame
// headers and the line breaks in the data are read. Windows are as large as those of Go's client.

import type { OnReadOpts } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { Target } from '../built-cluster.ts';
import { FrameReader, FRAME } from './frame-reader.ts';
import { headersFrame, PREFACE, settingsFrame, windowUpdate } from './frames.ts';

const READ_BYTES = 256 * 1024;
const STREAM_WINDOW = 4 * 1024 * 1024;
const CONNECTION_WINDOW = 1024 * 1024 * 1024;
/** The window of a connection before any update. */
const INITIAL_WINDOW = 65_535;
const NEWLINE = 10;
/** HPACK's index of `:status: 200`, and the bits of an update of the table's size. */
const STATUS_200 = 0x88;
const TABLE_SIZE_BITS = 0x20;

export interface WatchesOptions {
  readonly target: Target;
  readonly path: string;
  readonly watches: number;
  /** Called for each line that a watch received. `watch`: its number on this connection. */
  readonly onEvent: (watch: number) => void;
  readonly onFailure: (error: Error) => void;
}

/** Opens the connection and its watches. Resolves when the server has accepted all of them. */
export function openWatches(options: WatchesOptions): Promise<{ close(): void }> {
  const { target, watches } = options;
  return new Promise((resolve, reject) => {
    let isOpen = false;
    const fail = (error: Error): void => (isOpen ? options.onFailure(error) : reject(error));
    let missing = watches;
    const connection = new WatchesConnection(options, fail, () => {
      if (--missing > 0) return;
      isOpen = true;
      resolve({ close: () => socket.destroy() });
    });
    const tlsOptions: ConnectionOptions & { readonly onread: OnReadOpts } = {
      host: target.host,
      port: target.port,
      ...(target.ca === undefined ? { rejectUnauthorized: false } : { ca: target.ca }),
      ...(target.cert !== undefined && { cert: target.cert }),
      ...(target.key !== undefined && { key: target.key }),
      ALPNProtocols: ['h2'],
      // All reads share this memory.
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (length, buffer) => {
          connection.received(buffer as Buffer, length);
          return true;
        },
      },
    };
    const socket = connect(tlsOptions, () => connection.begin(socket));
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('the server closed a connection of watches')));
  });
}

class WatchesConnection {
  readonly #options: WatchesOptions;
  readonly #fail: (error: Error) => void;
  readonly #onAccepted: () => void;
  /** Bytes that were received since the last update of each stream's window. */
  readonly #received: Uint32Array;
  #receivedInAll = 0;
  #socket: TLSSocket | undefined;
  readonly #reader = new FrameReader({
    onFrame: (type, flags, stream, payload) => this.#frame(type, flags, stream, payload),
    onData: (stream, buffer, start, end) => this.#data(stream, buffer, start, end),
  });

  constructor(options: WatchesOptions, fail: (error: Error) => void, onAccepted: () => void) {
    this.#options = options;
    this.#fail = fail;
    this.#onAccepted = onAccepted;
    this.#received = new Uint32Array(options.watches);
  }

  begin(socket: TLSSocket): void {
    this.#socket = socket;
    socket.setNoDelay(true);
    const { target, path, watches } = this.#options;
    const parts = [
      PREFACE,
      settingsFrame({ initialWindow: STREAM_WINDOW }),
      windowUpdate(0, CONNECTION_WINDOW - INITIAL_WINDOW),
    ];
    for (let watch = 0; watch < watches; watch++)
      parts.push(
        headersFrame(streamOf(watch), [
          [':method', 'GET'],
          [':scheme', 'https'],
          [':authority', `${target.host}:${target.port}`],
          [':path', path],
          ['accept', 'application/json'],
          ...(target.token === undefined
            ? []
            : ([['authorization', `Bearer ${target.token}`]] as const)),
        ]),
      );
    socket.write(Buffer.concat(parts));
  }

  received(buffer: Buffer, length: number): void {
    this.#reader.push(buffer, length);
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case FRAME.headers: {
        let at = 0;
        while ((payload[at]! & 0xe0) === TABLE_SIZE_BITS) at++;
        if (payload[at] === STATUS_200) this.#onAccepted();
        else this.#fail(new Error(`watch ${stream} was not answered with 200`));
        return;
      }
      case FRAME.settings:
        if ((flags & FRAME.ack) === 0) this.#socket?.write(settingsFrame('ack'));
        return;
      case FRAME.reset:
        this.#fail(new Error(`the server reset watch ${stream}`));
        return;
      case FRAME.goAway: {
        const code = payload.readUInt32BE(4);
        // Without an error open streams go on.
        if (code !== 0) this.#fail(new Error(`the server said GOAWAY with the code ${code}`));
      }
    }
  }

  #data(stream: number, buffer: Buffer, start: number, end: number): void {
    const watch = (stream - 1) >> 1;
    const length = end - start;
    for (
      let at = buffer.indexOf(NEWLINE, start);
      at !== -1 && at < end;
      at = at + 1 < end ? buffer.indexOf(NEWLINE, at + 1) : -1
    )
      this.#options.onEvent(watch);
    const received = this.#received[watch]! + length;
    this.#received[watch] = received;
    if (received > STREAM_WINDOW / 2) {
      this.#received[watch] = 0;
      this.#socket?.write(windowUpdate(stream, received));
    }
    this.#receivedInAll += length;
    if (this.#receivedInAll > CONNECTION_WINDOW / 2) {
      this.#socket?.write(windowUpdate(0, this.#receivedInAll));
      this.#receivedInAll = 0;
    }
  }
}

/** Returns the stream of a watch. A client's streams have odd numbers. */
const streamOf = (watch: number): number => 2 * watch + 1;
