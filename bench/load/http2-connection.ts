// HTTP/2 as client-go speaks it, by Node's own client. It costs several times as much as
// Http1Connection, so its figures depend on the client as much as on the server.

import { connect, type ClientHttp2Session } from 'node:http2';
import type { Target } from '../built-cluster.ts';
import type { Connection, Reply } from './connection.ts';

export class Http2Connection implements Connection {
  isClosing = false;
  readonly #session: ClientHttp2Session;

  static open(target: Target): Promise<Http2Connection> {
    return new Promise((resolve, reject) => {
      const session = connect(`https://${target.host}:${target.port}`, {
        ca: target.ca,
        cert: target.cert,
        key: target.key,
      });
      session.once('error', reject);
      session.once('connect', () => resolve(new Http2Connection(session)));
    });
  }

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
    session.on('goaway', () => (this.isClosing = true));
    session.on('close', () => (this.isClosing = true));
  }

  request(method: string, path: string, body: Buffer | undefined): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request(
        {
          ':method': method,
          ':path': path,
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        { endStream: body === undefined },
      );
      let status = 0;
      let length = 0;
      stream.on('response', (headers) => (status = Number(headers[':status'])));
      stream.on('data', (chunk: Buffer) => (length += chunk.length));
      stream.on('end', () => resolve({ status, length }));
      stream.on('error', reject);
      if (body !== undefined) stream.end(Buffer.from(body));
    });
  }

  close(): void {
    this.#session.destroy();
  }
}
