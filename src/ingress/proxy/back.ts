// Requests to back ends, independent of the protocol.

import type { Readable, Writable } from 'node:stream';
import type { Endpoint } from '../model.ts';
import type { HeaderList } from './headers.ts';

export interface BackRequest {
  readonly method: string;
  /** The path and query. */
  readonly target: string;
  readonly authority: string;
  /** End-to-end headers in lower case, without Host. */
  readonly headers: HeaderList;
  readonly hasBody: boolean;
  /** The client accepts trailers. */
  readonly trailers: boolean;
}

export interface BackResponse {
  readonly status: number;
  /** The headers as received. */
  readonly headers: HeaderList;
  readonly body: Readable;
  /** The response has ended with its head, as gRPC errors do. */
  readonly headOnly: boolean;
  /** There may be trailers. */
  readonly mayHaveTrailers: boolean;
  /** Returns the trailers. Valid after the end of the body. */
  trailers(): HeaderList;
}

export interface BackExchange {
  /** The response. Rejects with BackError. */
  readonly response: Promise<BackResponse>;
  /** The stream for the request's body. */
  readonly body: Writable;
  /**
   * Calls back once a connection is established. Data that was written before cannot be sent in
   * another attempt if there never is one.
   */
  onReady(callback: () => void): void;
  /** Ends the exchange with the back end, also in the midst of the response's body. */
  abort(reason: string): void;
}

/** The failure of an exchange with a back end. */
export class BackError extends Error {
  /**
   * 'unsent': the back end has not seen the request. 'maybe': a reused connection was closed before
   * the response, so the back end has most likely not handled the request. 'sent': it may have
   * handled it.
   */
  readonly sent: 'unsent' | 'maybe' | 'sent';
  readonly reason: 'connect' | 'reset' | 'aborted' | 'protocol';

  constructor(
    sent: BackError['sent'],
    reason: BackError['reason'],
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'BackError';
    this.sent = sent;
    this.reason = reason;
  }
}

/** Connects to endpoints with one protocol, and keeps connections. */
export interface BackClient {
  send(endpoint: Endpoint, request: BackRequest): BackExchange;
  /** Closes idle connections. Exchanges in flight continue. */
  close(): void;
}

export const CONNECT_TIMEOUT_MS = 5000;
