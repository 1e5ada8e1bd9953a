// HTTP/2 over TLS. All requests and watches of a client share a connection up to the server's limit
// of streams; more need another connection.

import http2 from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '#machinery/clock.ts';
import { inNextTurn } from '#machinery/pending-work.ts';
import { abortable, sharedByMany } from '../abort.ts';
import {
  NotProcessedError,
  type Exchange,
  type ExchangeRequest,
  type ExchangeResponse,
} from './exchange.ts';

export interface Http2ExchangeConfig {
  readonly origin: URL;
  /** Opens a TLS connection on which HTTP/2 was negotiated. */
  readonly connect: (signal: AbortSignal) => Promise<TLSSocket>;
  readonly clock: Clock;
  /** The interval of pings that test a connection. Default: 30 s. */
  readonly pingIntervalMs?: number;
  /** The time without a reply to a ping after which the connection is destroyed. Default: 15 s. */
  readonly pingTimeoutMs?: number;
}

interface Connection {
  readonly session: http2.ClientHttp2Session;
  /** The number of requests and watches on it that have not ended. */
  streams: number;
  /** No new requests: the connection is closing. */
  retired: boolean;
}

/** Large windows: lists of many megabytes should not wait for a window update every 64 KiB. */
const STREAM_WINDOW = 1 << 20;
const CONNECTION_WINDOW = 16 << 20;
/** The limit for a server that announces none. RFC 9113 recommends at least this. */
const ASSUMED_MAX_STREAMS = 100;

export class Http2Exchange implements Exchange {
  readonly #config: Http2ExchangeConfig;
  readonly #connections = new Set<Connection>();
  /** A connection that is being opened. Other requests wait for it instead of opening more. */
  #connecting: Promise<Connection> | undefined;
  readonly #closed = new AbortController();

  constructor(config: Http2ExchangeConfig) {
    this.#config = config;
    sharedByMany(this.#closed.signal);
  }

  async exchange(request: ExchangeRequest): Promise<ExchangeResponse> {
    const connection = await this.#connection(request.signal);
    return this.#send(connection, request);
  }

  close(): void {
    this.#closed.abort(new Error('the client is closed'));
    // Not now: this may be called by what a response has led to, while Node parses the connection's
    // input. It would go on with streams that were freed (see machinery/net/http2-close.ts).
    for (const { session } of this.#connections) inNextTurn(() => session.destroy());
    this.#connections.clear();
  }

  async #connection(signal: AbortSignal): Promise<Connection> {
    for (;;) {
      signal.throwIfAborted();
      this.#closed.signal.throwIfAborted();
      for (const connection of this.#connections) {
        const limit =
          connection.session.remoteSettings?.maxConcurrentStreams ?? ASSUMED_MAX_STREAMS;
        if (!connection.retired && connection.streams < limit) {
          connection.streams++;
          return connection;
        }
      }
      this.#connecting ??= this.#connect().finally(() => {
        this.#connecting = undefined;
      });
      await abortable(this.#connecting, signal);
    }
  }

  async #connect(): Promise<Connection> {
    const { origin, connect } = this.#config;
    const socket = await connect(this.#closed.signal);
    const session = http2.connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    });
    const connection: Connection = { session, streams: 0, retired: false };
    const retire = (): void => {
      connection.retired = true;
      this.#connections.delete(connection);
    };
    // Streams get the error as well. Without this listener it would be an uncaught error of the
    // process.
    session.on('error', retire);
    session.on('goaway', retire);
    session.on('close', retire);
    await new Promise<void>((resolve, reject) => {
      session.once('remoteSettings', () => resolve());
      session.once('error', reject);
      session.once('close', () => reject(new Error('the connection was closed')));
    });
    session.setLocalWindowSize(CONNECTION_WINDOW);
    this.#connections.add(connection);
    this.#ping(connection);
    return connection;
  }

  /**
   * Pings a connection periodically. A connection can break unnoticed, and a watch on it would wait
   * for ever.
   */
  #ping({ session }: Connection): void {
    const { clock, pingIntervalMs = 30_000, pingTimeoutMs = 15_000 } = this.#config;
    const interval = clock.setInterval(pingIntervalMs, () => {
      if (session.destroyed || session.closed) return;
      const timer = clock.setTimer(pingTimeoutMs, () =>
        session.destroy(new Error('the server does not answer pings')),
      );
      session.ping(() => timer.cancel());
    });
    session.once('close', () => interval.cancel());
  }

  #send(
    connection: Connection,
    { method, path, headers, body, signal }: ExchangeRequest,
  ): Promise<ExchangeResponse> {
    return new Promise((resolve, reject) => {
      let stream: http2.ClientHttp2Stream;
      try {
        stream = connection.session.request(
          { ...headers, ':method': method, ':path': path },
          {
            endStream: body === undefined,
          },
        );
      } catch (error) {
        connection.streams--;
        connection.retired = true;
        reject(new NotProcessedError(error));
        return;
      }
      const onAbort = (): void => {
        reject(signal.reason);
        stream.close(http2.constants.NGHTTP2_CANCEL);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      stream.once('close', () => {
        connection.streams--;
        signal.removeEventListener('abort', onAbort);
        reject(new Error('the connection was closed before the response'));
      });
      stream.on('error', (err) => {
        reject(
          stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM
            ? new NotProcessedError(err)
            : err,
        );
      });
      stream.once('response', (received) => {
        resolve({
          status: received[':status'] ?? 0,
          headers: received,
          body: completeBody(stream),
          cancel: () => stream.close(http2.constants.NGHTTP2_CANCEL),
        });
      });
      if (signal.aborted) onAbort();
      else if (body !== undefined) stream.end(body);
    });
  }
}

/**
 * Yields the body and throws if the stream was reset or the connection broke, which otherwise looks
 * like its end.
 */
async function* completeBody(stream: http2.ClientHttp2Stream): AsyncIterable<Uint8Array> {
  for await (const chunk of stream) yield chunk as Uint8Array;
  if (stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR || stream.aborted) {
    throw new Error(`the stream ended before the response did (code ${stream.rstCode})`);
  }
}
