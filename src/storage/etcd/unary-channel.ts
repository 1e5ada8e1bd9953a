// Unary gRPC calls to one member over one HTTP/2 connection of Node. A call costs less than half of
// what it does in @grpc/grpc-js, which has to serve every kind of call and policy; decision 4 of
// docs/decisions has the figures. Watches, which are few and long, stay with that library.
//
// The connection is opened by the first call, and opened again by the first call after it failed.
// There are no retries here: a call that fails says how, with the codes of gRPC, and
// connection.ts decides what comes next.

import { type MethodDefinition, status } from '@grpc/grpc-js';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import type { Clock } from '#machinery/clock.ts';

export interface UnaryChannelConfig {
  readonly clock: Clock;
  /** HOST:PORT. */
  readonly address: string;
  /** PEM. Absent: without TLS. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** The time in which a connection must be open, TLS included, in ms. Default: 4 s. */
  readonly dialTimeoutMs?: number;
  /** The interval of pings while calls wait, in ms. Default: 10 s. */
  readonly pingIntervalMs?: number;
  /** The time without a reply to a ping after which the connection is destroyed. Default: 4 s. */
  readonly pingTimeoutMs?: number;
}

/** A failed call. `code`: of gRPC. */
export class CallError extends Error {
  readonly code: number;
  /** The message of the member, or of the connection. */
  readonly details: string;

  constructor(code: number, details: string) {
    super(`${code}: ${details}`);
    this.name = 'CallError';
    this.code = code;
    this.details = details;
  }
}

const DIAL_TIMEOUT_MS = 4000;
const PING_INTERVAL_MS = 10_000;
const PING_TIMEOUT_MS = 4000;
/** One byte for compression, four for the length. */
const PREFIX_BYTES = 5;
const STREAM_WINDOW = 1 << 20;
const CONNECTION_WINDOW = 16 << 20;
/** Node ends a connection with more in its buffers. A page of a list may have 20 MB. */
const MAX_SESSION_MEMORY_MB = 1024;
const { NGHTTP2_CANCEL } = constants;

export class UnaryChannel {
  readonly #config: UnaryChannelConfig;
  readonly #origin: string;
  #session: ClientHttp2Session | undefined;
  #waiting = 0;
  #closed = false;

  constructor(config: UnaryChannelConfig) {
    this.#config = config;
    this.#origin = `${config.tls === undefined ? 'http' : 'https'}://${config.address}`;
  }

  /** Sends the request once. Rejects with CallError. */
  call<Request, Response>(
    { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Response>,
    request: Request,
    timeoutMs: number,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const { clock } = this.#config;
      const message = requestSerialize(request);
      let stream: ClientHttp2Stream;
      try {
        stream = this.#open().request({
          ':method': 'POST',
          ':path': path,
          'content-type': 'application/grpc',
          te: 'trailers',
          'grpc-timeout': `${Math.max(1, Math.ceil(timeoutMs))}m`,
        });
      } catch (error) {
        reject(unavailable(error));
        return;
      }
      this.#waiting++;
      const reply = new Reply();
      let failure: CallError | undefined;
      const timer = clock.setTimer(timeoutMs, () => {
        failure = new CallError(status.DEADLINE_EXCEEDED, `no response within ${timeoutMs} ms`);
        stream.close(NGHTTP2_CANCEL);
      });
      stream.on('response', (headers) => reply.headers(headers));
      stream.on('trailers', (headers) => reply.trailers(headers));
      stream.on('data', (chunk: Buffer) => reply.data(chunk));
      stream.on('error', (error) => (failure ??= unavailable(error)));
      stream.on('close', () => {
        this.#waiting--;
        timer.cancel();
        failure ??= reply.failure();
        if (failure !== undefined) {
          reject(failure);
          return;
        }
        try {
          resolve(responseDeserialize(reply.message()));
        } catch (error) {
          reject(
            error instanceof CallError ? error : new CallError(status.INTERNAL, String(error)),
          );
        }
      });
      const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
      frame[0] = 0;
      frame.writeUInt32BE(message.length, 1);
      frame.set(message, PREFIX_BYTES);
      stream.end(frame);
    });
  }

  /** Fails the calls in flight, and all later ones. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#session?.destroy();
  }

  #open(): ClientHttp2Session {
    if (this.#closed) throw new Error('the connection is closed');
    const present = this.#session;
    if (present !== undefined && !present.closed && !present.destroyed) return present;
    const { tls } = this.#config;
    const options: SecureClientSessionOptions = {
      ...tls,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
    };
    const session = connect(this.#origin, options);
    this.#session = session;
    const leave = (): void => {
      if (this.#session === session) this.#session = undefined;
    };
    // Calls get the error as well.
    session.on('error', leave);
    session.on('goaway', leave);
    session.on('close', leave);
    const { clock, dialTimeoutMs = DIAL_TIMEOUT_MS } = this.#config;
    const dial = clock.setTimer(dialTimeoutMs, () =>
      session.destroy(new Error(`no connection within ${dialTimeoutMs} ms`)),
    );
    session.once('close', () => dial.cancel());
    session.once('connect', () => {
      dial.cancel();
      session.setLocalWindowSize(CONNECTION_WINDOW);
      this.#ping(session);
    });
    return session;
  }

  /** A member that is paused or cut off does not close its connections. Only pings detect it. */
  #ping(session: ClientHttp2Session): void {
    const { clock, pingIntervalMs = PING_INTERVAL_MS } = this.#config;
    const { pingTimeoutMs = PING_TIMEOUT_MS } = this.#config;
    const interval = clock.setInterval(pingIntervalMs, () => {
      if (this.#waiting === 0 || session.destroyed || session.closed) return;
      const timer = clock.setTimer(pingTimeoutMs, () =>
        session.destroy(new Error('the member does not answer pings')),
      );
      session.ping(() => timer.cancel());
    });
    session.once('close', () => interval.cancel());
  }
}

/** The parts of a response, as they arrive. */
class Reply {
  #httpStatus = 0;
  /** '' until it arrives. */
  #status = '';
  #details = '';
  #chunks: Buffer[] = [];

  headers(headers: IncomingHttpHeaders & { readonly ':status'?: number }): void {
    this.#httpStatus = headers[':status'] ?? 0;
    // A response without a message has its status here.
    this.trailers(headers);
  }

  trailers(headers: IncomingHttpHeaders): void {
    const given = headers['grpc-status'];
    if (given === undefined) return;
    this.#status = String(given);
    this.#details = decoded(String(headers['grpc-message'] ?? ''));
  }

  data(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  failure(): CallError | undefined {
    if (this.#status === '0') return undefined;
    if (this.#status !== '') return new CallError(Number(this.#status), this.#details);
    const answer =
      this.#httpStatus === 0 ? 'the connection ended' : `HTTP status ${this.#httpStatus}`;
    return new CallError(status.UNAVAILABLE, `${answer} before the response was complete`);
  }

  /** Returns the one message. Throws CallError if it is not whole. */
  message(): Buffer {
    const [first] = this.#chunks;
    const bytes =
      this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    const length = bytes.length < PREFIX_BYTES ? -1 : bytes.readUInt32BE(1);
    if (bytes[0] !== 0 || length !== bytes.length - PREFIX_BYTES)
      throw new CallError(status.INTERNAL, 'the response is not one uncompressed message');
    return bytes.subarray(PREFIX_BYTES);
  }
}

/** Messages are percent-encoded. */
function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    // It has a percent sign that encodes nothing; the text is readable as it is.
    return message;
  }
}

function unavailable(error: unknown): CallError {
  return new CallError(status.UNAVAILABLE, error instanceof Error ? error.message : String(error));
}
