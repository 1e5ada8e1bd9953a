// Runs a command once the streams of a client are open. Both transports (SPDY, WebSocket) use it.

import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Status } from '#machinery/apierrors.ts';
import { statusOfError, statusOfResult } from './outcome.ts';
import type { RemoteCommandHandler, RemoteCommandStreams } from './types.ts';

export interface Channels {
  readonly streams: RemoteCommandStreams;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /**
   * Sends the result and closes the connection. Called once, after stdout and stderr have been
   * ended and sent.
   */
  finish(status: Status): Promise<void>;
}

/** Ends an output. Errors are ignored: the connection may be gone. */
export async function endOutput(stream: Writable | undefined): Promise<void> {
  if (stream === undefined || stream.destroyed) return;
  stream.end();
  await finished(stream, { readable: false }).catch(() => undefined);
}

/**
 * Runs the handler on the streams, sends the result to the client, and closes the connection. Never
 * rejects.
 */
export async function runOnChannels(
  channels: Channels,
  handler: RemoteCommandHandler,
): Promise<Status> {
  const { streams, signal } = channels;
  // The peer may reset an output at any time. The writer gets the error; it must not be uncaught.
  for (const stream of [streams.stdin, streams.stdout, streams.stderr])
    stream?.on('error', () => undefined);
  let status: Status;
  try {
    status = statusOfResult(await handler(streams, signal));
  } catch (error) {
    status = statusOfError(error);
  }
  await Promise.all([endOutput(streams.stdout), endOutput(streams.stderr)]);
  await channels.finish(status);
  return status;
}
