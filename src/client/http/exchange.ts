// One HTTP request and its response, for any version of HTTP.

import type { IncomingHttpHeaders } from 'node:http';

export interface ExchangeRequest {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  /** The names are in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal;
}

export interface ExchangeResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * Must be read to its end or cancelled; otherwise it occupies its share of the connection. Throws
   * if the connection breaks.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** Abandons the unread rest of the body. Idempotent. */
  cancel(): void;
}

/** The connections to one server. */
export interface Exchange {
  /**
   * Resolves when the response's headers have arrived. Rejects with the signal's reason, or with
   * the network's error.
   */
  exchange(request: ExchangeRequest): Promise<ExchangeResponse>;
  close(): void;
}

/**
 * The server has certainly not processed the request: it may be sent again, whatever its method.
 */
export class NotProcessedError extends Error {
  constructor(cause: unknown) {
    super('the connection closed before the request was processed', { cause });
    this.name = 'NotProcessedError';
  }
}
