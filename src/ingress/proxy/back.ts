// Requests to back ends, whatever the protocol.

import type { Readable, Writable } from 'node:stream';
import type { Endpoint } from '../model.ts';
import type { HeaderList } from './headers.ts';

export interface BackRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly authority: string;
  /** End-to-end headers in lower case, without Host. */
  readonly headers: HeaderList;
  readonly hasBody: boolean;
  /** The client takes trailers. */
  readonly trailers: boolean;
}

export interface BackResponse {
  readonly status: number;
  /** As they came. */
  readonly headers: HeaderList;
  readonly body: Readable;
  /** The answer has ended with its head, as errors of gRPC do. */
  readonly headOnly: boolean;
  /** There may be trailers. */
  readonly mayHaveTrailers: boolean;
  /** After the body's end. */
  trailers(): HeaderList;
}

export interface BackExchange {
  /** Rejects with BackError. */
  readonly response: Promise<BackResponse>;
  /** Where the request's body goes. */
  readonly body: Writable;
  /**
   * Calls back once a connection is there. What is written before is lost for other attempts if
   * there never is one.
   */
  onReady(callback: () => void): void;
  /** Ends the exchange with the back end, also in the midst of the response's body. */
  abort(reason: string): void;
}

/** Why a back end has not answered. */
export class BackError extends Error {
  /**
   * 'unsent': the back end has not seen the request. 'maybe': a kept connection was closed before
   * the answer, so the back end has most likely not handled it. 'sent': it may have.
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

/** Connects to endpoints by one protocol, and keeps connections. */
export interface BackClient {
  send(endpoint: Endpoint, request: BackRequest): BackExchange;
  /** Closes the connections that are kept. Exchanges in flight go on. */
  close(): void;
}

export const CONNECT_TIMEOUT_MS = 5000;
