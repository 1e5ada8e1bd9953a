// One end of a connection between two threads, with back-pressure as on a socket. The other end
// uses the channel's other port.

import { Duplex } from 'node:stream';
import type { MessagePort } from 'node:worker_threads';

/** 'taken': there is room for more. null: the end. */
type PortMessage = Uint8Array | 'taken' | null;

class PortEnd extends Duplex {
  readonly #port: MessagePort;
  #taken: (() => void) | undefined;
  /** The last chunk is acknowledged when it is read. */
  #ackPending = false;
  #peerClosed = false;

  constructor(port: MessagePort) {
    super();
    this.#port = port;
    port.on('message', (message: PortMessage) => this.#receive(message));
    port.on('close', () => {
      this.#peerClosed = true;
      // A peer that closed without an end message has not read the unacknowledged data.
      if (this.#taken !== undefined)
        this.destroy(Object.assign(new Error('the other end is closed'), { code: 'EPIPE' }));
      else if (!this.readableEnded) this.push(null);
    });
  }

  #receive(message: PortMessage): void {
    if (message === 'taken') {
      const taken = this.#taken;
      this.#taken = undefined;
      taken?.();
    } else if (message === null) {
      this.push(null);
    } else if (this.push(Buffer.from(message.buffer, message.byteOffset, message.byteLength))) {
      this.#port.postMessage('taken', []);
    } else {
      this.#ackPending = true;
    }
  }

  override _read(): void {
    if (!this.#ackPending) return;
    this.#ackPending = false;
    this.#port.postMessage('taken', []);
  }

  override _write(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (err?: Error | null) => void,
  ): void {
    if (this.#peerClosed) {
      done(Object.assign(new Error('the other end is closed'), { code: 'EPIPE' }));
      return;
    }
    this.#taken = done;
    // A copy: a chunk may be a part of a shared buffer.
    const bytes = new Uint8Array(chunk);
    this.#port.postMessage(bytes, [bytes.buffer]);
  }

  override _final(done: () => void): void {
    this.#port.postMessage(null, []);
    done();
  }

  override _destroy(err: Error | null, done: (err: Error | null) => void): void {
    this.#port.close();
    done(err);
  }
}

/** Returns the end of a connection. Destroying it closes the port. */
export function portDuplex(port: MessagePort): Duplex {
  return new PortEnd(port);
}
