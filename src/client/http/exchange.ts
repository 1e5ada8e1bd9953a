// One HTTP request and its response, whichever version of HTTP the connection speaks.

import type { IncomingHttpHeaders } from 'node:http';

export interface ExchangeRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal;
}

export interface ExchangeResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** To be read to its end or cancelled, else the connection's share stays taken. Throws if the connection breaks. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives up what of the body was not read. Idempotent. */
  cancel(): void;
}

/** The connections to one server. */
export interface Exchange {
  /** Resolves when the response's headers are there. Rejects with the signal's reason, or what the network said. */
  exchange(request: ExchangeRequest): Promise<ExchangeResponse>;
  close(): void;
}

/** The server did certainly not act on the request: it may be sent again, whatever its method. */
export class NotProcessedError extends Error {
  constructor(cause: unknown) {
    super('the connection closed before the request was processed', { cause });
    this.name = 'NotProcessedError';
  }
}
