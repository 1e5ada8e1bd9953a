// One HTTP/1.1 exchange with a backend over a pooled connection. Upgrades use a connection of their
// own: see `exchange` of machinery/net/peer.

import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';

import type { Clock } from '#machinery/clock.ts';
import { BodyAbortedError } from '#machinery/net/peer/index.ts';
import type { BackendRequest } from './backend-request.ts';
import type { BackendAgent } from './connection-pool.ts';

/** The maximum number of informational responses (1xx), as in Go's net/http. */
const MAX_INFORMATIONAL = 5;
/**
 * Methods whose requests may be sent again if a connection that was idle turns out to be closed.
 */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface PooledExchangeConfig {
  readonly agent: BackendAgent;
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly maxHeaderBytes: number;
}

/**
 * Resolves with the head of the response. Rejects with BodyAbortedError, the signal's reason, or
 * the error of the connection.
 */
export async function pooledExchange(
  config: PooledExchangeConfig,
  request: BackendRequest,
): Promise<IncomingMessage> {
  try {
    return await exchangeOnce(config, request);
  } catch (error) {
    // The backend has closed an idle connection: it has received nothing.
    if (!(error instanceof StaleConnectionError) || request.signal.aborted) throw error;
    return exchangeOnce(config, request);
  }
}

class StaleConnectionError extends Error {}

function exchangeOnce(
  { agent, host, port, clock, maxHeaderBytes }: PooledExchangeConfig,
  { method, path, headers, body, signal, headTimeoutMs }: BackendRequest,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const options = {
      method,
      path,
      headers,
      agent,
      host,
      port,
      maxHeaderSize: maxHeaderBytes,
      dialSignal: signal,
    };
    const outgoing: ClientRequest = httpRequest(options);
    let hasResponse = false;
    const fail = (error: Error): void => {
      reject(error);
      outgoing.destroy(error);
    };
    const onAbort = (): void => fail(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    const timer =
      headTimeoutMs === undefined
        ? undefined
        : clock.setTimer(headTimeoutMs, () =>
            fail(new Error(`timeout: no response within ${headTimeoutMs} ms`)),
          );
    outgoing.once('close', () => {
      timer?.cancel();
      signal.removeEventListener('abort', onAbort);
      reject(new Error('the peer closed the connection before it responded'));
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const stale =
        outgoing.reusedSocket &&
        !hasResponse &&
        (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      const repeatable = body === undefined && REPEATABLE.has(method);
      reject(
        stale && repeatable ? new StaleConnectionError(error.message, { cause: error }) : error,
      );
    });
    let informational = 0;
    outgoing.on('information', () => {
      if (++informational > MAX_INFORMATIONAL)
        fail(new Error('too many 1xx informational responses'));
    });
    outgoing.once('upgrade', (_message, socket) => {
      socket.destroy();
      reject(new Error('unexpected response: 101 Switching Protocols'));
    });
    outgoing.once('response', (message) => {
      hasResponse = true;
      timer?.cancel();
      if (message.statusCode === 101) {
        fail(new Error('unexpected response: 101 Switching Protocols'));
        return;
      }
      // The reader of the body gets the error, too. This listener handles errors without a reader.
      message.on('error', () => undefined);
      // If the backend responds before it has read the whole request body, the rest is not sent.
      message.once('end', () => {
        if (!outgoing.writableFinished) outgoing.destroy();
      });
      resolve(message);
    });
    sendBody(outgoing, body, fail);
  });
}

function sendBody(
  outgoing: ClientRequest,
  body: BackendRequest['body'],
  fail: (error: Error) => void,
): void {
  if (body === undefined || body instanceof Uint8Array) {
    outgoing.end(body);
    return;
  }
  let ended = false;
  body.once('end', () => (ended = true));
  body.on('error', (error) => fail(new BodyAbortedError(error.message)));
  body.once('close', () => {
    if (!ended) fail(new BodyAbortedError('the body of the request ended early'));
  });
  outgoing.once('close', () => body.destroy());
  body.pipe(outgoing);
}
