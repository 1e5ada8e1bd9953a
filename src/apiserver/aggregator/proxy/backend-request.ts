// A request to a backend, and the function that opens a connection to it.

import type { OutgoingHttpHeaders } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';

import type { ServiceAddress } from '../../service-resolver/resolve.ts';

/** Opens a connection with TLS. Rejects with the socket's error. */
export type DialBackend = (
  address: ServiceAddress,
  tls: ConnectionOptions,
  signal: AbortSignal | undefined,
) => Promise<Duplex>;

export interface BackendRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Uint8Array | Readable;
  readonly signal: AbortSignal;
  readonly upgrade?: boolean;
  /**
   * The timeout until the head of the response, in ms. Default: only the signal limits the time.
   */
  readonly headTimeoutMs?: number;
}
