// Requests of clients, whatever the protocol.

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
  /** In origin form, or absolute form. */
  readonly target: string;
  readonly authority: string;
  readonly headers: HeaderList;
  readonly hasBody: boolean;
  readonly body: Readable;
  readonly headersSent: boolean;
  /**
   * Sends the head of the answer and returns where its body goes. `length`: the body's, if it is
   * known and not among the headers.
   */
  respond(status: number, headers: HeaderList, options: RespondOptions): Writable;
  /** The answer cannot be completed: the client notices that it is cut off. */
  abort(): void;
  /** Calls back once when the exchange is over. `complete`: the client has the whole answer. */
  onClose(callback: (complete: boolean) => void): void;
}

export interface RespondOptions {
  /** There is no body, or its end is the answer's. */
  readonly bodiless: boolean;
  /** Called at the end of the body. undefined: there are none. */
  readonly trailers: (() => HeaderList) | undefined;
}
