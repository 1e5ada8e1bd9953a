// The types of Kubernetes' streaming protocols (exec, attach, port-forward). They do not depend on
// the negotiated wire protocol (SPDY/3.1 or WebSocket, and their versions).

import type { Duplex, Readable, Writable } from 'node:stream';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';

export interface TerminalSize {
  /** The number of columns. */
  readonly width: number;
  /** The number of rows. */
  readonly height: number;
}

/** The streams that a client asked for. With a terminal there is no stderr. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/**
 * The process' side of the streams: the handler reads `stdin` and `resize` and writes `stdout` and
 * `stderr`. A stream exists only if the client asked for it (resize: with a terminal). Streams that
 * the handler leaves open are ended after it.
 */
export interface RemoteCommandStreams {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  readonly resize?: AsyncIterable<TerminalSize>;
}

export interface RemoteCommandResult {
  readonly exitCode: number;
}

/**
 * Runs the command against the streams. `signal` aborts when the client disconnects. The result is
 * sent to the client; undefined means success, as for attach. An error is sent as a failure: with
 * its `status` (a Kubernetes Status) if it has one, otherwise as InternalError with its message.
 */
export type RemoteCommandHandler = (
  streams: RemoteCommandStreams,
  signal: AbortSignal,
) => Promise<RemoteCommandResult | void>;

/**
 * Connects one forwarded connection to `port`. Resolves when the connection is over. The client
 * gets the reason of a rejection.
 */
export type PortForwardHandler = (
  port: number,
  stream: Duplex,
  signal: AbortSignal,
) => Promise<void>;

export interface StreamingServerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time that a client has after the upgrade to open its streams. Default: 30 s. */
  readonly streamCreationTimeoutMs?: number;
  /** The idle time after which a connection is closed. Default: 4 hours; 0: never. */
  readonly idleTimeoutMs?: number;
}
