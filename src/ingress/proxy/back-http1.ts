// The client for back ends with HTTP/1.1.

import { Agent, request as httpRequest } from 'node:http';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Endpoint } from '../model.ts';
import {
  type BackClient,
  BackError,
  type BackExchange,
  type BackRequest,
  type BackResponse,
  CONNECT_TIMEOUT_MS,
} from './back.ts';
import { joinCookies } from './headers.ts';

/**
 * The number of idle connections per endpoint, and their timeout unless the server requests a
 * shorter one.
 */
const MAX_IDLE = 256;
const IDLE_MS = 15_000;
/** Methods whose requests have a Content-Length even without a body. */
const WITH_LENGTH: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

export class Http1Client implements BackClient {
  readonly #clock: Clock;
  // The timeout closes idle connections only: requests do not listen for it.
  readonly #agent = new Agent({
    keepAlive: true,
    maxFreeSockets: MAX_IDLE,
    scheduling: 'lifo',
    timeout: IDLE_MS,
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  send(
    { ip, port }: Endpoint,
    { method, target, authority, headers, hasBody, trailers }: BackRequest,
  ): BackExchange {
    const list = ['host', authority, ...joinCookies([...headers])];
    if (!headers.some((name, i) => i % 2 === 0 && name === 'content-length')) {
      if (hasBody) list.push('transfer-encoding', 'chunked');
      else if (WITH_LENGTH.has(method)) list.push('content-length', '0');
    }
    if (trailers) list.push('te', 'trailers', 'connection', 'te, keep-alive');
    else list.push('connection', 'keep-alive');
    const request = httpRequest({
      agent: this.#agent,
      host: ip,
      port,
      method,
      path: target,
      headers: list as unknown as Record<string, string>,
      setHost: false,
      // Larger response headers are an error, like larger request headers.
      maxHeaderSize: 64 * 1024,
    });
    let connected = false;
    let responded = false;
    let abortReason: string | undefined;
    const ready: (() => void)[] = [];
    const connect = (): void => {
      connected = true;
      timer.cancel();
      for (const callback of ready.splice(0)) callback();
    };
    const timer = this.#clock.setTimer(CONNECT_TIMEOUT_MS, () =>
      request.destroy(new Error('connecting took too long')),
    );
    request.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', connect);
      else connect();
    });
    const response = new Promise<BackResponse>((resolve, reject) => {
      request.on('response', (incoming) => {
        responded = true;
        resolve({
          status: incoming.statusCode ?? 502,
          headers: incoming.rawHeaders,
          body: incoming,
          headOnly: false,
          mayHaveTrailers: incoming.headers.trailer !== undefined,
          trailers: () => incoming.rawTrailers,
        });
      });
      // An upgrade without a request for it.
      request.on('upgrade', (_incoming, socket) => {
        socket.destroy();
        reject(new BackError('sent', 'protocol', 'the back end switches protocols unasked'));
      });
      request.on('error', (err) => {
        timer.cancel();
        if (responded) return;
        const message = abortReason ?? errorMessage(err);
        if (abortReason !== undefined)
          reject(new BackError('sent', 'aborted', message, { cause: err }));
        else if (!connected) reject(new BackError('unsent', 'connect', message, { cause: err }));
        else
          reject(
            new BackError(request.reusedSocket ? 'maybe' : 'sent', 'reset', message, {
              cause: err,
            }),
          );
      });
      request.on('close', () => {
        timer.cancel();
        if (!responded)
          reject(new BackError('sent', 'reset', 'the back end closed the connection'));
      });
    });
    response.catch(() => undefined);
    if (!hasBody) request.end();
    return {
      response,
      body: request,
      onReady: (callback) => {
        if (connected) callback();
        else ready.push(callback);
      },
      abort: (reason) => {
        abortReason = reason;
        request.destroy();
      },
    };
  }

  close(): void {
    this.#agent.destroy();
  }
}
