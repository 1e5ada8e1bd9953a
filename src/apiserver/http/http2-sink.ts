// Writes responses to streams of HTTP/2.

import type { ServerHttp2Stream } from 'node:http2';
import type { ConnectionSink } from './http1.ts';
import type { ResponseHeaders } from './response-sink.ts';

export class Http2Sink implements ConnectionSink {
  readonly writable: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream) {
    this.writable = stream;
  }

  get open(): boolean {
    return !this.writable.destroyed && !this.writable.closed;
  }

  get begun(): boolean {
    return this.writable.headersSent;
  }

  begin(code: number, headers: ResponseHeaders, length: number | undefined): void {
    if (!this.open) return;
    this.writable.respond({
      ':status': code,
      ...(length !== undefined && { 'content-length': length }),
      ...headers,
    });
  }

  whole(code: number, headers: ResponseHeaders, body: Uint8Array | undefined): void {
    if (!this.open) return;
    if (body === undefined) {
      this.writable.respond({ ':status': code, ...headers }, { endStream: true });
      return;
    }
    headers['content-length'] = String(body.length);
    this.writable.respond({ ':status': code, ...headers });
    this.writable.end(body);
  }
}
