// Where a response goes: the one or the other version of HTTP.

import type { ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Writable } from 'node:stream';

/** What differs between the versions of HTTP. */
export interface ResponseSink {
  readonly writable: Writable;
  /** False once the client has gone: nothing need be sent. */
  readonly open: boolean;
  /** Whether status line and headers have been sent. Absent where nothing is sent. */
  readonly begun?: boolean;
  /** Sends the status line and headers. `length`: of the body, if it is known. */
  begin(code: number, headers: Record<string, string | readonly string[]>, length: number | undefined): void;
  /** Sends a whole response whose body is at hand. */
  whole(code: number, headers: Record<string, string | readonly string[]>, body: Uint8Array | undefined): void;
}

/** Where a response goes on a real connection. */
export interface ConnectionSink extends ResponseSink {
  readonly begun: boolean;
}

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

  begin(code: number, headers: Record<string, string | readonly string[]>, length: number | undefined): void {
    if (!this.open) return;
    this.writable.respond({ ':status': code, ...(length !== undefined && { 'content-length': length }), ...headers });
  }

  whole(code: number, headers: Record<string, string | readonly string[]>, body: Uint8Array | undefined): void {
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

export class Http1Sink implements ConnectionSink {
  readonly writable: ServerResponse;

  constructor(response: ServerResponse) {
    this.writable = response;
  }

  get open(): boolean {
    return !this.writable.destroyed && this.writable.writable;
  }

  get begun(): boolean {
    return this.writable.headersSent;
  }

  begin(code: number, headers: Record<string, string | readonly string[]>, length: number | undefined): void {
    if (length !== undefined) headers['content-length'] = String(length);
    this.writable.writeHead(code, headers as Record<string, string>);
    // Watchers and followers of logs want to know at once that it works.
    if (length === undefined) this.writable.flushHeaders();
  }

  whole(code: number, headers: Record<string, string | readonly string[]>, body: Uint8Array | undefined): void {
    headers['content-length'] = String(body?.length ?? 0);
    this.writable.writeHead(code, headers as Record<string, string>);
    this.writable.end(body);
  }
}
