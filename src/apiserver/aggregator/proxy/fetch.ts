// Reads a document of another API server, as the aggregator itself: discovery and OpenAPI.

import type { Clock } from '#machinery/clock.ts';
import type { UserInfo } from '../../request.ts';
import type { RemoteApiService } from '../api-services.ts';
import { BackendError, type Backends, readBody } from './backend.ts';
import { forwardedHeaders, userHeaders } from './headers.ts';

export interface FetchServices {
  readonly clock: Clock;
  readonly backends: Backends;
}

export interface FetchRequest {
  readonly path: string;
  readonly accept: string;
  readonly user: UserInfo;
  /** The ETag of the present document; '' for none. */
  readonly etag: string;
  /** The timeout of the whole exchange, in ms. */
  readonly timeoutMs: number;
  /** The maximum size. A larger document is an error. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface FetchedDocument {
  readonly code: number;
  readonly contentType: string;
  readonly etag: string;
  readonly body: Buffer;
}

/**
 * Reads the document. Rejects with BackendError, NoEndpointError, TransportError or the signal's
 * reason. Redirects are not followed.
 */
export async function fetchDocument(
  services: FetchServices,
  service: RemoteApiService,
  request: FetchRequest,
): Promise<FetchedDocument> {
  const { clock, backends } = services;
  const { path, accept, user, etag, timeoutMs, maxBytes } = request;
  const timeout = new AbortController();
  const timer = clock.setTimer(timeoutMs, () =>
    timeout.abort(new BackendError('request timed out')),
  );
  try {
    const backend = await backends.choose(service);
    const headers = {
      host: backend.host,
      accept,
      ...userHeaders(user),
      ...forwardedHeaders(backend.host, path),
    };
    const { message } = await backend.send({
      method: 'GET',
      path,
      headers: { ...headers, ...(etag !== '' && { 'if-none-match': etag }) },
      signal: AbortSignal.any([request.signal, timeout.signal]),
    });
    const body = await readBody(message, maxBytes);
    return {
      code: message.statusCode ?? 0,
      contentType: message.headers['content-type'] ?? '',
      etag: message.headers.etag ?? '',
      body,
    };
  } finally {
    timer.cancel();
  }
}
