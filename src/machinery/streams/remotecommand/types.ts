// Kubernetes' streaming protocols (exec, attach, port-forward) seen from outside: what both ends hand in and get back,
// whichever of the wire protocols (SPDY/3.1 or WebSocket, and their versions) was negotiated.

import type { Duplex, Readable, Writable } from 'node:stream';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';

export interface TerminalSize {
  /** Columns. */
  readonly width: number;
  /** Rows. */
  readonly height: number;
}

/** Which streams a client asked for. With a terminal there is no stderr. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/**
 * The process's side of the streams: the handler reads `stdin` and `resize` and writes `stdout` and `stderr`. Each is there
 * if and only if the client asked for it (resize: with a terminal). What was not ended by the handler is ended after it.
 */
export interface RemoteCommandStreams {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  readonly resize?: AsyncIterable<TerminalSize> | undefined;
}

export interface RemoteCommandResult {
  readonly exitCode: number;
}

/**
 * Runs the command against the streams. `signal` aborts when the client is gone. What it resolves with is sent to the client as
 * the outcome (nothing: success, as for attach); what it throws as a failure: an error with a `status` (a Kubernetes Status) as
 * that status, any other as InternalError with its message.
 */
export type RemoteCommandHandler = (
  streams: RemoteCommandStreams,
  signal: AbortSignal,
) => Promise<RemoteCommandResult | void>;

/** Connects one forwarded connection to `port`. Rejecting tells the client why; resolves when the connection is over. */
export type PortForwardHandler = (
  port: number,
  stream: Duplex,
  signal: AbortSignal,
) => Promise<void>;

export interface StreamingServerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a client has, after the upgrade, to open the streams that it asked for. Default: 30 s. */
  readonly streamCreationTimeoutMs?: number;
  /** A connection on which nothing moves for so long is closed. Default: 4 hours; 0: never. */
  readonly idleTimeoutMs?: number;
}
