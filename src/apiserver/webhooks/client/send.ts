// Sends one HTTP request to a webhook, and reads the complete response.

import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';

import type { WebhookAgent } from './agent.ts';
import type { Place } from './config.ts';

/** The maximum number of informational responses before the final one, as in Go's net/http. */
const MAX_INFORMATIONAL = 5;

export interface WebhookRequest {
  readonly agent: WebhookAgent;
  readonly method: 'POST' | 'GET';
  readonly place: Place;
  /** The query, which begins with '?'; or ''. */
  readonly query: string;
  /** The client's name and its credentials, in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The body in JSON. Absent: no body. */
  readonly body: Buffer | undefined;
  readonly maxResponseBytes: number;
  /** Closes the connection at any time. */
  readonly signal: AbortSignal;
}

export interface WebhookResponse {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The response had begun, but its body could not be read. */
export class ResponseBodyError extends Error {
  override readonly name = 'ResponseBodyError';
}

/** The response exceeds the limit. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';

  constructor(limit: number) {
    super(`the response is larger than the limit of ${limit} bytes`);
  }
}

/**
 * Sends the request. Rejects with the signal's reason, ResponseBodyError, ResponseTooLargeError, or
 * the error of the connection.
 */
export async function send(config: WebhookRequest): Promise<WebhookResponse> {
  try {
    return await sendOnce(config);
  } catch (error) {
    // The webhook has closed an idle connection, and nothing of the request was sent. In all other
    // cases it may have been processed.
    if (!(error instanceof StaleConnectionError) || config.signal.aborted) throw error;
    return sendOnce(config);
  }
}

/** A connection from an earlier call was closed before any byte of the request was sent. */
class StaleConnectionError extends Error {}

function sendOnce({
  agent,
  method,
  place,
  query,
  headers,
  body,
  maxResponseBytes,
  signal,
}: WebhookRequest): Promise<WebhookResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const options = {
      method,
      agent,
      host: place.host,
      port: place.port,
      path: `${place.path}${query}`,
      headers: {
        host: place.authority,
        ...(headers as Record<string, string | string[]>),
        accept: 'application/json, */*',
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': body.length,
        }),
      },
      dialSignal: signal,
    };
    const outgoing = httpRequest(options);
    const onAbort = (): void => void outgoing.destroy(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    let informational = 0;
    let writtenBefore = 0;
    outgoing.on('socket', (socket) => (writtenBefore = socket.bytesWritten));
    let incoming: IncomingMessage | undefined;
    outgoing.on('error', (error) => {
      if (incoming !== undefined) {
        reject(bodyError(signal, error.message));
        return;
      }
      const sent = (outgoing.socket?.bytesWritten ?? 0) > writtenBefore;
      reject(
        outgoing.reusedSocket && !sent
          ? new StaleConnectionError(error.message, { cause: error })
          : error,
      );
    });
    outgoing.on('close', () => {
      signal.removeEventListener('abort', onAbort);
      if (incoming?.complete !== true) reject(bodyError(signal, 'unexpected EOF'));
    });
    outgoing.on('information', () => {
      if (++informational > MAX_INFORMATIONAL)
        outgoing.destroy(new Error('net/http: too many 1xx informational responses'));
    });
    outgoing.on('response', (response) => {
      incoming = response;
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('error', () => reject(bodyError(signal, 'unexpected EOF')));
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxResponseBytes) {
          reject(new ResponseTooLargeError(maxResponseBytes));
          outgoing.destroy();
        } else chunks.push(chunk);
      });
      response.on('end', () => {
        resolve({
          code: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks, size),
        });
      });
    });
    outgoing.end(body);
  });
}

function bodyError(signal: AbortSignal, message: string): Error {
  const why = signal.aborted && signal.reason instanceof Error ? signal.reason.message : message;
  return new ResponseBodyError(why, signal.aborted ? { cause: signal.reason } : {});
}
