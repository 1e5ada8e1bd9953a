// The cheapest client of HTTP/1.1 over TLS that there can be, so that what is measured is the server: one request at a time on a
// connection that is kept, and of the response only the status and how long it is are looked at.

import { connect, type TLSSocket } from 'node:tls';
import type { Target } from '../built-cluster.ts';
import type { Connection, Reply } from './connection.ts';

export class Http1Connection implements Connection {
  readonly #socket: TLSSocket;
  readonly #host: string;
  #settle: { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void } | undefined;
  #response = new ResponseReader();

  static open(target: Target): Promise<Http1Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: target.host,
        port: target.port,
        ca: target.ca,
        cert: target.cert,
        key: target.key,
        ALPNProtocols: ['http/1.1'],
      });
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        socket.off('error', reject);
        resolve(new Http1Connection(socket, target));
      });
    });
  }

  private constructor(socket: TLSSocket, target: Target) {
    this.#socket = socket;
    this.#host = `${target.host}:${target.port}`;
    socket.setNoDelay(true);
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
    socket.on('data', (chunk: Buffer) => {
      if (!this.#response.push(chunk)) return;
      const { status, length } = this.#response;
      this.#response = new ResponseReader();
      const settle = this.#settle;
      this.#settle = undefined;
      settle?.resolve({ status, length });
    });
  }

  request(method: string, path: string, body: string | undefined): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      const head = `${method} ${path} HTTP/1.1\r\nHost: ${this.#host}\r\nAccept: application/json\r\n`;
      this.#socket.write(
        body === undefined
          ? `${head}\r\n`
          : `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    });
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.reject(error);
  }
}

/** Of one response. Bodies have a Content-Length or come in chunks, whose framing is counted with them. */
class ResponseReader {
  status = 0;
  /** Of the body, in bytes. */
  length = 0;
  #head = '';
  #expected = -1;
  #tail = '';

  /** Whether the response is complete. */
  push(chunk: Buffer): boolean {
    if (this.#expected === -1 && this.#tail === '') {
      this.#head += chunk.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return false;
      const head = this.#head.slice(0, end).toLowerCase();
      this.status = Number(head.slice(9, 12));
      const at = head.indexOf('\r\ncontent-length: ');
      this.length = this.#head.length - end - 4;
      if (at >= 0) this.#expected = Number.parseInt(head.slice(at + 18, at + 34), 10);
      else this.#tail = this.#head.slice(-7);
      return this.#complete();
    }
    this.length += chunk.length;
    if (this.#expected === -1) this.#tail = (this.#tail + chunk.subarray(-7).toString('latin1')).slice(-7);
    return this.#complete();
  }

  #complete(): boolean {
    return this.#expected >= 0 ? this.length >= this.#expected : this.#tail === '\r\n0\r\n\r\n';
  }
}
