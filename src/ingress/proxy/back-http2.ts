// The client for back ends with HTTP/2 without TLS, with prior knowledge (h2c), as gRPC servers use
// it.

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { PassThrough } from 'node:stream';
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
import { asHeaderObject, type HeaderList } from './headers.ts';

/** A session without requests closes after this time. */
const IDLE_MS = 60_000;
const WINDOW = 1024 * 1024;

interface Kept {
  readonly session: ClientHttp2Session;
  connected: boolean;
}

export class Http2Client implements BackClient {
  readonly #clock: Clock;
  readonly #sessions = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  send(
    endpoint: Endpoint,
    { method, target, authority, headers, hasBody, trailers }: BackRequest,
  ): BackExchange {
    const kept = this.#session(endpoint);
    const { session } = kept;
    const object: OutgoingHttpHeaders = {
      ...asHeaderObject(headers),
      ':method': method,
      ':path': target,
      ':scheme': 'http',
      ':authority': authority,
      ...(trailers && { te: 'trailers' }),
    };
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(object, { endStream: !hasBody });
    } catch (error) {
      const failure = new BackError('unsent', 'connect', errorMessage(error), { cause: error });
      const response = Promise.reject<BackResponse>(failure);
      response.catch(() => undefined);
      return {
        response,
        body: new PassThrough(),
        onReady: () => undefined,
        abort: () => undefined,
      };
    }
    let responded = false;
    let abortReason: string | undefined;
    let trailing: HeaderList = [];
    stream.on('trailers', (_headers, _flags, raw?: string[]) => (trailing = raw ?? trailing));
    const response = new Promise<BackResponse>((resolve, reject) => {
      stream.on('response', (headersOf, flags, raw?: string[]) => {
        responded = true;
        resolve({
          status: headersOf[':status'] ?? 502,
          headers: raw ?? [],
          body: stream,
          headOnly: (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0,
          mayHaveTrailers: true,
          trailers: () => trailing,
        });
      });
      const fail = (message: string, cause?: unknown): void => {
        if (responded) return;
        if (abortReason !== undefined)
          reject(new BackError('sent', 'aborted', abortReason, { cause }));
        else if (!kept.connected) reject(new BackError('unsent', 'connect', message, { cause }));
        else if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM)
          reject(new BackError('unsent', 'reset', message, { cause }));
        else reject(new BackError('sent', 'reset', message, { cause }));
      };
      stream.on('error', (err) => fail(errorMessage(err), err));
      stream.on('close', () => fail('the back end closed the stream'));
    });
    response.catch(() => undefined);
    return {
      response,
      body: stream,
      onReady: (callback) => {
        if (kept.connected) callback();
        else session.once('connect', callback);
      },
      abort: (reason) => {
        abortReason = reason;
        stream.close(constants.NGHTTP2_CANCEL);
        if (!kept.connected) stream.destroy(new Error(reason));
      },
    };
  }

  close(): void {
    for (const { session } of this.#sessions.values()) session.close();
    this.#sessions.clear();
  }

  #session({ ip, port }: Endpoint): Kept {
    const authority = `${ip.includes(':') ? `[${ip}]` : ip}:${port}`;
    const present = this.#sessions.get(authority);
    if (present !== undefined && !present.session.closed && !present.session.destroyed)
      return present;
    const session = connect(`http://${authority}`, {
      settings: { enablePush: false, initialWindowSize: WINDOW },
    });
    const kept: Kept = { session, connected: false };
    this.#sessions.set(authority, kept);
    const forget = (): void => {
      timer.cancel();
      if (this.#sessions.get(authority) === kept) this.#sessions.delete(authority);
    };
    const timer = this.#clock.setTimer(CONNECT_TIMEOUT_MS, () =>
      session.destroy(new Error('connecting took too long')),
    );
    session.once('connect', () => {
      kept.connected = true;
      timer.cancel();
      session.setLocalWindowSize(WINDOW * 4);
    });
    // Streams get the error, too, and report it.
    session.on('error', forget);
    session.on('close', forget);
    session.on('goaway', forget);
    session.setTimeout(IDLE_MS, () => {
      forget();
      session.close();
    });
    session.unref();
    return kept;
  }
}
