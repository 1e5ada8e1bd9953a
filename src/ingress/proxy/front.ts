// Requests of clients, independent of the protocol.

import type { Readable, Writable } from 'node:stream';
import type { HeaderList } from './headers.ts';

export interface FrontRequest {
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2';
  readonly scheme: 'http' | 'https';
  /** The name in the TLS handshake, '' if there was none; undefined without TLS. */
  readonly serverName: string | undefined;
  readonly remoteAddress: string;
  readonly localPort: number;
  readonly method: string;
  /** The request target, in origin form or absolute form. */
  readonly target: string;
  readonly authority: string;
  readonly headers: HeaderList;
  readonly hasBody: boolean;
  readonly body: Readable;
  readonly headersSent: boolean;
  /**
   * Sends the head of the response and returns the stream for its body. `length`: of the body, if
   * it is determined and not among the headers.
   */
  respond(status: number, headers: HeaderList, options: RespondOptions): Writable;
  /** Aborts an incomplete response: the client notices that it is cut off. */
  abort(): void;
  /**
   * Calls back once when the exchange is over. `complete`: the client has received the whole
   * response.
   */
  onClose(callback: (complete: boolean) => void): void;
}

export interface RespondOptions {
  /** The response has no body. */
  readonly bodiless: boolean;
  /** Called at the end of the body. undefined: no trailers. */
  readonly trailers: (() => HeaderList) | undefined;
}
