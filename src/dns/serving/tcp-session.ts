// A client's TCP connection: messages with a length prefix (RFC 7766). Answers may be reordered, as
// the RFC allows.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { TcpConnection } from '../system/sockets.ts';
import type { Answered } from './answerer.ts';

export interface TcpSessionConfig {
  readonly connection: TcpConnection;
  readonly clock: Clock;
  readonly handle: (message: Buffer) => Answered;
  readonly onClose: () => void;
}

/** A connection without a query is closed after this time, as in CoreDNS. */
const IDLE_MS = 10_000;
/** The time that a client has to read an answer. */
const WRITE_MS = 5000;
/**
 * The number of queries per connection that wait for an upstream server. Further ones are read when
 * some are answered.
 */
const MAX_IN_FLIGHT = 32;
/**
 * The time for a connection's queries in one turn of the event loop: a long pipeline must not delay
 * other clients.
 */
const TURN_MS = 2;
const PREFIX = 2;

export class TcpSession {
  readonly #config: TcpSessionConfig;
  /** Received bytes that are not handled yet: at most one chunk and the beginning of a message. */
  #received: Buffer = Buffer.alloc(0);
  #inFlight = 0;
  /** The client does not read its answers. */
  #blocked = false;
  #scheduled = false;
  #closed = false;
  #timer: Timer | undefined;

  constructor(config: TcpSessionConfig) {
    this.#config = config;
    const { connection } = config;
    connection.onClose(() => {
      this.#closed = true;
      this.#timer?.cancel();
      this.#received = Buffer.alloc(0);
      config.onClose();
    });
    connection.onDrain(() => {
      this.#blocked = false;
      this.#arm(IDLE_MS);
      this.#work();
    });
    this.#arm(IDLE_MS);
    connection.onData((data) => {
      this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
      this.#work();
    });
  }

  #arm(delayMs: number): void {
    this.#timer?.cancel();
    if (!this.#closed)
      this.#timer = this.#config.clock.setTimer(delayMs, () => this.#config.connection.destroy());
  }

  /** Handles the complete messages, and resumes reading when none is left. */
  #work(): void {
    if (this.#scheduled) return;
    const { connection, clock } = this.#config;
    const until = clock.monotonic() + TURN_MS;
    while (!this.#closed && !this.#blocked && this.#inFlight < MAX_IN_FLIGHT) {
      const message = this.#next();
      if (message === undefined) {
        connection.resume();
        return;
      }
      if (clock.monotonic() > until) {
        this.#scheduled = true;
        connection.pause();
        clock.setTimer(0, () => {
          this.#scheduled = false;
          this.#work();
        });
        return;
      }
      this.#received = this.#received.subarray(PREFIX + message.length);
      this.#arm(IDLE_MS);
      this.#answer(this.#config.handle(message));
    }
    if (!this.#closed) connection.pause();
  }

  #next(): Buffer | undefined {
    if (this.#received.length < PREFIX) return undefined;
    const length = this.#received.readUInt16BE(0);
    return this.#received.length < PREFIX + length
      ? undefined
      : this.#received.subarray(PREFIX, PREFIX + length);
  }

  #answer(answered: Answered): void {
    if (answered === undefined) {
      // A DNS client does not send messages that get no answer.
      this.#config.connection.destroy();
    } else if (Buffer.isBuffer(answered)) {
      this.#write(answered);
    } else {
      this.#inFlight++;
      void answered.then((message) => {
        this.#inFlight--;
        if (message !== undefined) this.#write(message);
        this.#work();
      });
    }
  }

  #write(message: Buffer): void {
    if (this.#closed) return;
    const framed = Buffer.allocUnsafe(PREFIX + message.length);
    framed.writeUInt16BE(message.length, 0);
    message.copy(framed, PREFIX);
    if (this.#config.connection.write(framed)) return;
    this.#blocked = true;
    this.#arm(WRITE_MS);
  }
}
