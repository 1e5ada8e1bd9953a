// Exec and attach over a WebSocket, both ends. The first byte of each message is its channel: 0
// stdin, 1 stdout, 2 stderr, 3 result, 4 resize. In v5, 255 ends the channel that the second byte
// names. The base64 protocols send text messages: the channel as a digit, and the rest in base64.

import { Readable, Writable } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

export const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** The subprotocols of this end, by preference. */
export const webSocketProtocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'channel.k8s.io',
  'base64.channel.k8s.io',
] as const;

export interface ChannelProtocol {
  readonly base64: boolean;
  /** The result is a Status in JSON. */
  readonly jsonOutcome: boolean;
  /** Channels can be ended one by one. */
  readonly closesChannels: boolean;
}

/**
 * Returns the properties of a protocol. '' (the client named none) is equal to `channel.k8s.io`.
 */
export function channelProtocol(name: string): ChannelProtocol {
  return {
    base64: name.includes('base64'),
    jsonOutcome: name.startsWith('v4.') || name.startsWith('v5.'),
    closesChannels: name.startsWith('v5.'),
  };
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

const BUFFER = 256 * 1024;

/** The channels of one WebSocket: readable and writable streams by number. */
export class WebSocketChannels {
  readonly #socket: WebSocket;
  readonly #protocol: ChannelProtocol;
  /** The readers of channels, by number. */
  readonly #readers = new Map<number, Readable>();
  /** Readers with a full buffer. The socket is not read while there are any. */
  readonly #full = new Set<number>();

  constructor(socket: WebSocket, protocol: ChannelProtocol) {
    this.#socket = socket;
    this.#protocol = protocol;
    socket.on('message', (data) => this.#receive(toBuffer(data)));
    socket.on('close', () => {
      for (const reader of this.#readers.values()) if (!reader.readableEnded) reader.push(null);
    });
    // 'close' follows, with the error in its code.
    socket.on('error', () => undefined);
  }

  /** Returns the data of a channel, until it or the connection is closed. */
  reader(number: number): Readable {
    const resume = (): void => {
      if (this.#full.delete(number) && this.#full.size === 0) this.#socket.resume();
    };
    const reader = new Readable({
      highWaterMark: BUFFER,
      read: resume,
      destroy: (err, done) => {
        this.#readers.delete(number);
        resume();
        done(err);
      },
    });
    this.#readers.set(number, reader);
    return reader;
  }

  /**
   * Returns a channel to write to. With `closeAtEnd`, its end is sent if the protocol supports
   * that.
   */
  writer(number: number, closeAtEnd = false): Writable {
    return new Writable({
      highWaterMark: 64 * 1024,
      write: (chunk: Buffer, _encoding, done) => this.send(number, chunk, done),
      final: (done) => {
        if (closeAtEnd && this.#protocol.closesChannels)
          this.send(channel.close, Buffer.from([number]), () => done());
        else done();
      },
    });
  }

  send(number: number, data: Buffer, done: (err?: Error | null) => void): void {
    if (this.#socket.readyState !== this.#socket.OPEN) {
      done(new Error('the WebSocket is closed'));
    } else if (this.#protocol.base64) {
      this.#socket.send(String.fromCharCode(0x30 + number) + data.toString('base64'), done);
    } else {
      this.#socket.send(Buffer.concat([Buffer.from([number]), data]), { binary: true }, done);
    }
  }

  /**
   * The type of the message does not matter: some clients send text messages, with the channel as
   * the first character.
   */
  #receive(message: Buffer): void {
    if (message.length === 0) return;
    const number = this.#protocol.base64 ? message[0]! - 0x30 : message[0]!;
    const rest = message.subarray(1);
    if (number === channel.close && this.#protocol.closesChannels) {
      this.#readers.get(rest[0] ?? -1)?.push(null);
      this.#readers.delete(rest[0] ?? -1);
      return;
    }
    const reader = this.#readers.get(number);
    const data = this.#protocol.base64 ? Buffer.from(rest.toString('latin1'), 'base64') : rest;
    // Data of a channel without a reader is dropped. So is an empty message, which only announces
    // the channel.
    if (reader === undefined || data.length === 0 || reader.push(data)) return;
    this.#full.add(number);
    this.#socket.pause();
  }
}
