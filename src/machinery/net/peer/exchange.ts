// Performs one HTTP/1.1 exchange with a peer on a connection of its own. The exchange owns the
// connection: it listens for errors, has deadlines that do not depend on the peer, and destroys the
// connection on every way out.
//
// A peer may reset, close, stall, or send anything at any byte. Each of these settles the
// promise, or fails the response's body.

import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import type { Duplex, Readable } from 'node:stream';

import type { Clock } from '#machinery/clock.ts';
import { watchIdle } from './idle.ts';
import { watchErrors } from './dial.ts';

/**
 * The number of informational responses before the final one that is accepted, as in Go's net/http.
 */
const MAX_INFORMATIONAL = 5;
/**
 * The idle time after which a connection is closed: the kubelet's streamingConnectionIdleTimeout.
 */
export const IDLE_TIMEOUT_MS = 4 * 3600 * 1000;

/** The request's body ended before it was complete: its sender failed, not the peer. */
export class BodyAbortedError extends Error {
  override readonly name = 'BodyAbortedError';
}

export interface ExchangeConfig {
  /** An open connection. The exchange owns it from the call on, even if the promise rejects. */
  readonly connection: Duplex;
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  /** A stream is sent with back-pressure. Absent: no body. */
  readonly body?: Uint8Array | Readable;
  /** Destroys the connection at any time, even after the response began. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The longest wait for the head of the response. Default: idleTimeoutMs. */
  readonly headTimeoutMs?: number;
  /** The longest time without a byte from or to the peer. Default: IDLE_TIMEOUT_MS. */
  readonly idleTimeoutMs?: number;
  /** The longest head of a response. Default: Node's, 16 KiB. */
  readonly maxHeaderBytes?: number;
  /** Accept a 101 response, which changes the protocol. Default: false. */
  readonly upgrade?: boolean;
}

export type Answer =
  | { readonly kind: 'response'; readonly message: IncomingMessage }
  /**
   * The protocol changed. The caller owns `connection` now; it has an error listener. The signal
   * still destroys it.
   */
  | {
      readonly kind: 'upgraded';
      readonly message: IncomingMessage;
      readonly connection: Duplex;
      readonly head: Buffer;
    };

/**
 * Sends the request. Resolves with the final response's head, or with the upgraded connection.
 * Rejects with Error.
 */
export function exchange(config: ExchangeConfig): Promise<Answer> {
  return new Promise((resolve, reject) => new PeerExchange(config, resolve, reject).send());
}

class PeerExchange {
  readonly #config: ExchangeConfig;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #connection: Duplex;
  #settled = false;
  #upgraded = false;
  #informational = 0;

  constructor(
    config: ExchangeConfig,
    resolve: (answer: Answer) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#config = config;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#connection = watchErrors(config.connection);
  }

  send(): void {
    const { maxHeaderBytes: maxHeaderSize } = this.#config;
    const {
      signal,
      clock,
      method,
      path,
      headers,
      idleTimeoutMs = IDLE_TIMEOUT_MS,
      headTimeoutMs = idleTimeoutMs,
    } = this.#config;
    const connection = this.#connection;
    if (signal.aborted) {
      this.#fail(signal.reason);
      return;
    }
    const headTimer = clock.setTimer(headTimeoutMs, () => {
      if (!this.#settled) this.#fail(new Error(`timeout: no response within ${headTimeoutMs} ms`));
    });
    const idle = watchIdle(clock, connection, idleTimeoutMs, () =>
      this.#fail(new Error(`timeout: idle for ${idleTimeoutMs} ms`)),
    );
    const onAbort = (): void => this.#fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const release = (): void => {
      headTimer.cancel();
      idle.cancel();
      signal.removeEventListener('abort', onAbort);
    };
    connection.once('close', () => {
      release();
      this.#fail(new Error('the peer closed the connection before it responded'));
    });
    if (connection.destroyed) {
      release();
      this.#fail(new Error('the peer closed the connection before the request'));
      return;
    }
    let outgoing: ClientRequest;
    try {
      outgoing = httpRequest({
        method,
        path,
        headers,
        createConnection: () => connection,
        maxHeaderSize,
      });
    } catch (error) {
      // A header or path contains invalid characters.
      this.#fail(error);
      return;
    }
    outgoing.on('error', (error) => this.#fail(error));
    outgoing.on('close', () => {
      // After an upgrade the request is over, but the connection stays open.
      if (!this.#upgraded)
        this.#fail(new Error('the peer closed the connection before it responded'));
    });
    outgoing.on('information', () => {
      if (++this.#informational > MAX_INFORMATIONAL)
        this.#fail(new Error('too many 1xx informational responses'));
    });
    outgoing.once('response', (message) => {
      headTimer.cancel();
      // Without the header Upgrade, Node treats a 101 as an ordinary response.
      if (message.statusCode === 101) {
        this.#fail(new Error('unexpected response: 101 Switching Protocols'));
        return;
      }
      // The reader of the body gets the error, too. Without a reader, this listener keeps it from
      // being uncaught.
      message.on('error', () => undefined);
      // The body was read to its end or abandoned. The connection serves this exchange only, so the
      // rest of the request's body is not sent.
      message.once('end', () => connection.destroy());
      message.once('close', () => connection.destroy());
      this.#settle({ kind: 'response', message });
    });
    outgoing.once('upgrade', (message, socket, head) => {
      headTimer.cancel();
      if (this.#config.upgrade !== true) {
        this.#fail(new Error('unexpected response: 101 Switching Protocols'));
        return;
      }
      this.#upgraded = true;
      this.#settle({ kind: 'upgraded', message, connection: socket, head });
    });
    this.#sendBody(outgoing);
  }

  #sendBody(outgoing: ClientRequest): void {
    const { body } = this.#config;
    if (body === undefined || body instanceof Uint8Array) {
      outgoing.end(body);
      return;
    }
    let ended = false;
    body.once('end', () => (ended = true));
    body.on('error', (error) => this.#fail(new BodyAbortedError(error.message)));
    body.once('close', () => {
      if (!ended) this.#fail(new BodyAbortedError('the body of the request ended early'));
    });
    // The rest of the body is not sent to a peer that answers early or fails.
    outgoing.once('close', () => body.destroy());
    body.pipe(outgoing);
  }

  #settle(answer: Answer): void {
    if (this.#settled) {
      this.#connection.destroy();
      return;
    }
    this.#settled = true;
    this.#resolve(answer);
  }

  /**
   * Closes the connection. After the head of the response, the reader of its body gets the error.
   */
  #fail(reason: unknown): void {
    if (!this.#settled) {
      this.#settled = true;
      this.#reject(reason);
    }
    this.#connection.destroy();
    const { body } = this.#config;
    if (body !== undefined && !(body instanceof Uint8Array)) body.destroy();
  }
}
