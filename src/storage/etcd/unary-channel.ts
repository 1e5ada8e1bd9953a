// Unary gRPC calls to one member over one HTTP/2 connection (http2/). A call costs a fraction of what
// it does in @grpc/grpc-js, which has to serve every kind of call and policy, or with Node's HTTP/2,
// which makes a stream of each; decisions 4 and 13 of docs/decisions have the figures. Watches, which
// are few and long, stay with that library.
//
// The connection is opened by the first call, and opened again by the first call after it failed.
// There are no retries here: a call that fails says how, with the codes of gRPC, and
// connection.ts decides what comes next.

import { type MethodDefinition, status } from '@grpc/grpc-js';
import type { Clock } from '#machinery/clock.ts';
import {
  ClientConnection,
  type Exchange,
  type ResponseHandler,
} from './http2/client-connection.ts';
import { openSocket } from '#machinery/net/http2-socket.ts';
import { encodeFields, type Field } from './http2/hpack.ts';

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
/** The header blocks of requests that are remembered: one for each method and deadline. */
const MAX_BLOCKS = 256;

export class UnaryChannel {
  readonly #config: UnaryChannelConfig;
  readonly #origin: URL;
  /** Header blocks by path and deadline. */
  readonly #blocks = new Map<string, Buffer>();
  /** Open, or being opened. */
  #connection: ClientConnection | undefined;
  #closed = false;

  constructor(config: UnaryChannelConfig) {
    this.#config = config;
    this.#origin = new URL(`${config.tls === undefined ? 'http' : 'https'}://${config.address}`);
  }

  /** Sends the request once. Rejects with CallError. */
  call<Request, Response>(
    { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Response>,
    request: Request,
    timeoutMs: number,
  ): Promise<Response> {
    if (this.#closed) return Promise.reject(unavailable(new Error('the connection is closed')));
    return new Promise((resolve, reject) => {
      const connection = this.#open();
      const reply = new Reply((message) => resolve(responseDeserialize(message)), reject);
      const exchange: Exchange = connection.request(
        this.#blockOf(path, Math.max(1, Math.ceil(timeoutMs))),
        framed(requestSerialize(request)),
        reply,
      );
      reply.timer = this.#config.clock.setTimer(timeoutMs, () => {
        connection.cancel(exchange);
        reject(new CallError(status.DEADLINE_EXCEEDED, `no response within ${timeoutMs} ms`));
      });
    });
  }

  /** Fails the calls in flight, and all later ones. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#connection?.destroy(new Error('the connection is closed'));
  }

  #blockOf(path: string, timeoutMs: number): Buffer {
    const key = `${timeoutMs} ${path}`;
    const present = this.#blocks.get(key);
    if (present !== undefined) return present;
    const fields: readonly Field[] = [
      [':method', 'POST'],
      [':scheme', this.#origin.protocol.slice(0, -1)],
      [':authority', this.#origin.host],
      [':path', path],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['grpc-timeout', `${timeoutMs}m`],
    ];
    const block = encodeFields(fields);
    if (this.#blocks.size >= MAX_BLOCKS) this.#blocks.clear();
    this.#blocks.set(key, block);
    return block;
  }

  #open(): ClientConnection {
    if (this.#connection !== undefined) return this.#connection;
    const { clock, tls, dialTimeoutMs = DIAL_TIMEOUT_MS } = this.#config;
    const ends: (() => void)[] = [];
    const socket = openSocket(this.#origin, tls, () => {
      dial.cancel();
      ends.push(this.#keepAlive(connection));
    });
    const connection = new ClientConnection({
      socket,
      streamWindow: STREAM_WINDOW,
      connectionWindow: CONNECTION_WINDOW,
      onLeave: () => {
        if (this.#connection === connection) this.#connection = undefined;
      },
    });
    this.#connection = connection;
    const dial = clock.setTimer(dialTimeoutMs, () =>
      connection.destroy(new Error(`no connection within ${dialTimeoutMs} ms`)),
    );
    ends.push(() => dial.cancel());
    socket.once('close', () => {
      for (const end of ends) end();
    });
    return connection;
  }

  /**
   * Sends pings while calls wait: a member that is paused or cut off does not close its
   * connections. Returns a function that ends this.
   */
  #keepAlive(connection: ClientConnection): () => void {
    const { clock, pingIntervalMs = PING_INTERVAL_MS } = this.#config;
    const { pingTimeoutMs = PING_TIMEOUT_MS } = this.#config;
    const interval = clock.setInterval(pingIntervalMs, () => {
      if (connection.pending === 0) return;
      const timer = clock.setTimer(pingTimeoutMs, () =>
        connection.destroy(new Error('the member does not answer pings')),
      );
      connection.ping(() => timer.cancel());
    });
    return () => interval.cancel();
  }
}

/** Returns a message as gRPC sends it: not compressed, after its length. */
function framed(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, PREFIX_BYTES);
  return bytes;
}

/** Puts the parts of a response together, and settles the call. */
class Reply implements ResponseHandler {
  readonly #resolve: (message: Buffer) => void;
  readonly #reject: (failure: CallError) => void;
  #httpStatus = 0;
  /** '' until it arrives. */
  #status = '';
  #details = '';
  readonly #parts: Buffer[] = [];
  /** Cancelled at the end. */
  timer: { cancel(): void } | undefined;

  /** `resolve` may throw for a message that cannot be decoded. */
  constructor(resolve: (message: Buffer) => void, reject: (failure: CallError) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  fields(fields: readonly Field[]): void {
    for (const [name, value] of fields) {
      if (name === ':status') this.#httpStatus = Number(value);
      // A response without a message has its status in the first fields.
      else if (name === 'grpc-status') this.#status = value;
      else if (name === 'grpc-message') this.#details = decoded(value);
    }
  }

  data(part: Buffer): void {
    // The part is a view of what the connection received, and decoded messages are views of it.
    this.#parts.push(Buffer.from(part));
  }

  end(): void {
    this.timer?.cancel();
    if (this.#status !== '0') {
      this.#reject(this.#failure());
      return;
    }
    try {
      this.#resolve(this.#message());
    } catch (error) {
      this.#reject(
        error instanceof CallError ? error : new CallError(status.INTERNAL, String(error)),
      );
    }
  }

  failed(error: Error): void {
    this.timer?.cancel();
    this.#reject(unavailable(error));
  }

  #failure(): CallError {
    if (this.#status !== '') return new CallError(Number(this.#status), this.#details);
    return new CallError(
      status.UNAVAILABLE,
      `HTTP status ${this.#httpStatus} before the response was complete`,
    );
  }

  /** Returns the one message. Throws CallError if it is not whole. */
  #message(): Buffer {
    const [first] = this.#parts;
    const bytes =
      this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
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
