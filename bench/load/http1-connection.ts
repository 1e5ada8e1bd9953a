// A client of HTTP/1.1 over TLS that costs as little as possible, so that the figures are about the
// server. It sends one request at a time on a kept connection, and reads only the status and the
// length of a response.

import type { OnReadOpts } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { Target } from '../built-cluster.ts';
import type { Connection, Reply } from './connection.ts';

const READ_BYTES = 64 * 1024;
const HEAD_BYTES = 1024;

export class Http1Connection implements Connection {
  isClosing = false;
  readonly #socket: TLSSocket;
  readonly #host: string;
  readonly #authorization: string;
  #settle:
    | { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void }
    | undefined;
  #response = new ResponseReader();
  /** Why the connection is closed. */
  #failure: Error | undefined;
  /** The last request with a body. */
  #last:
    | {
        readonly method: string;
        readonly path: string;
        readonly headLength: number;
        readonly bytes: Buffer;
      }
    | undefined;

  static open(target: Target): Promise<Http1Connection> {
    return new Promise((resolve, reject) => {
      let connection: Http1Connection | undefined;
      // Node's types declare `onread` for plain sockets only, though TLS sockets take it as well.
      const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
        host: target.host,
        port: target.port,
        ...(target.ca === undefined ? { rejectUnauthorized: false } : { ca: target.ca }),
        ...(target.cert !== undefined && { cert: target.cert }),
        ...(target.key !== undefined && { key: target.key }),
        ALPNProtocols: ['http/1.1'],
        // Reads always use the same memory, and no stream: both together halve the cost of a read.
        onread: {
          buffer: Buffer.allocUnsafeSlow(READ_BYTES),
          callback: (length, buffer) => {
            if (connection !== undefined) connection.#received(buffer as Buffer, length);
            return true;
          },
        },
      };
      const socket = connect(options);
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        socket.off('error', reject);
        connection = new Http1Connection(socket, target);
        resolve(connection);
      });
    });
  }

  private constructor(socket: TLSSocket, target: Target) {
    this.#socket = socket;
    this.#host = `${target.host}:${target.port}`;
    this.#authorization =
      target.token === undefined ? '' : `Authorization: Bearer ${target.token}\r\n`;
    socket.setNoDelay(true);
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  #received(buffer: Buffer, length: number): void {
    if (!this.#response.push(buffer, length)) return;
    const { status, length: bodyLength, isLast } = this.#response;
    if (isLast) this.isClosing = true;
    this.#response = new ResponseReader();
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.resolve({ status, length: bodyLength });
  }

  request(method: string, path: string, body: Buffer | undefined): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(this.#failure);
        return;
      }
      this.#settle = { resolve, reject };
      this.#socket.write(
        body === undefined
          ? Buffer.from(this.#head(method, path), 'latin1')
          : this.#withBody(method, path, body),
      );
    });
  }

  /**
   * Returns the request's bytes in one buffer. Requests that differ only in their bodies' bytes
   * share the buffer: the previous one has been answered.
   */
  #withBody(method: string, path: string, body: Buffer): Buffer {
    const last = this.#last;
    if (
      last?.method === method &&
      last.path === path &&
      last.bytes.length === last.headLength + body.length
    ) {
      body.copy(last.bytes, last.headLength);
      return last.bytes;
    }
    const head = this.#head(
      method,
      path,
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`,
    );
    const bytes = Buffer.concat([Buffer.from(head, 'latin1'), body]);
    this.#last = { method, path, headLength: head.length, bytes };
    return bytes;
  }

  #head(method: string, path: string, more = ''): string {
    return (
      `${method} ${path} HTTP/1.1\r\nHost: ${this.#host}\r\nAccept: application/json\r\n` +
      `${this.#authorization}${more}\r\n`
    );
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.reject(error);
  }
}

/**
 * Reads one response. A body has a Content-Length or comes in chunks; the chunks' framing counts
 * into its length.
 */
class ResponseReader {
  status = 0;
  /** The server closes the connection after this response. */
  isLast = false;
  /** The body's length in bytes. */
  length = 0;
  /** The received part of a response head that is not complete. */
  #head = '';
  #expected = -1;
  /** The last bytes of a body without a length; empty otherwise. */
  #tail = '';

  /** Reads the first `length` bytes of the buffer. Returns whether the response is complete. */
  push(buffer: Buffer, length: number): boolean {
    if (this.#expected === -1 && this.#tail === '') return this.#begin(buffer, length);
    this.length += length;
    if (this.#expected === -1)
      this.#tail = (this.#tail + buffer.toString('latin1', Math.max(0, length - 7), length)).slice(
        -7,
      );
    return this.#complete();
  }

  #begin(buffer: Buffer, length: number): boolean {
    const before = this.#head;
    // The limit is far above the size of a head, and far below that of a body.
    this.#head = before + buffer.toString('latin1', 0, Math.min(length, HEAD_BYTES));
    let end = this.#head.indexOf('\r\n\r\n');
    if (end < 0 && length > HEAD_BYTES) {
      this.#head = before + buffer.toString('latin1', 0, length);
      end = this.#head.indexOf('\r\n\r\n');
    }
    if (end < 0) return false;
    const head = this.#head.slice(0, end);
    this.status = Number(head.slice(9, 12));
    this.isLast = /\r\nconnection: close(\r\n|$)/i.test(head);
    // Most servers use this spelling; the second search accepts every spelling.
    let at = head.indexOf('\r\ncontent-length: ');
    if (at < 0) at = head.toLowerCase().indexOf('\r\ncontent-length: ');
    this.length = before.length + length - end - 4;
    if (at >= 0) this.#expected = Number.parseInt(head.slice(at + 18, at + 34), 10);
    else this.#tail = buffer.toString('latin1', Math.max(0, length - 7), length);
    return this.#complete();
  }

  #complete(): boolean {
    return this.#expected >= 0 ? this.length >= this.#expected : this.#tail === '\r\n0\r\n\r\n';
  }
}
