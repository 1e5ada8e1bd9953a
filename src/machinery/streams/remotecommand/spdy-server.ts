// Exec and attach over SPDY/3.1. The client opens one stream each for error, stdin, stdout, stderr
// and resize, named by the header `streamtype`. v4 sends the result as JSON. v3 added resize. v2
// and v1 have neither.

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { SpdyConnection, type SpdyStream } from '../spdy/index.ts';
import { endOutput, type Channels } from './channels.ts';
import { encodeOutcome } from './outcome.ts';
import { decodeSizes } from './resize.ts';
import type { StreamingServerConfig, StreamOptions } from './types.ts';
import { acceptSpdy } from './upgrade.ts';

export const spdyProtocols = [
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
] as const;

export const DEFAULT_STREAM_CREATION_TIMEOUT_MS = 30_000;
export const DEFAULT_IDLE_TIMEOUT_MS = 4 * 3600_000;

type StreamType = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize';

function expectedStreams(options: StreamOptions, protocol: string): StreamType[] {
  const resizes = protocol === 'v4.channel.k8s.io' || protocol === 'v3.channel.k8s.io';
  return [
    'error',
    ...(options.stdin ? (['stdin'] as const) : []),
    ...(options.stdout ? (['stdout'] as const) : []),
    ...(options.stderr && !options.tty ? (['stderr'] as const) : []),
    ...(options.tty && resizes ? (['resize'] as const) : []),
  ];
}

/**
 * Accepts the upgrade and waits for the client's streams. Returns undefined if the client was
 * rejected or did not open them.
 */
export async function openSpdyChannels(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  options: StreamOptions,
  config: StreamingServerConfig,
): Promise<Channels | undefined> {
  const protocol = acceptSpdy(request, socket, spdyProtocols);
  if (protocol === undefined) return undefined;
  const expected = expectedStreams(options, protocol);
  const opened = new Map<string, SpdyStream>();
  let settle: (isComplete: boolean) => void = () => undefined;
  const complete = new Promise<boolean>((resolve) => (settle = resolve));
  const connection = new SpdyConnection({
    socket,
    head,
    side: 'server',
    clock: config.clock,
    idleTimeoutMs: config.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
    onStream(stream) {
      stream.on('error', () => undefined);
      const type = stream.header('streamtype') ?? '';
      if (!expected.includes(type as StreamType) || opened.has(type)) {
        config.logger.warn('unexpected stream type', { streamType: type });
        stream.destroy();
        return;
      }
      opened.set(type, stream);
      if (opened.size === expected.length) settle(true);
    },
  });
  void connection.closed.then(() => settle(false));
  const timer = config.clock.setTimer(
    config.streamCreationTimeoutMs ?? DEFAULT_STREAM_CREATION_TIMEOUT_MS,
    () => settle(false),
  );
  const isComplete = await complete;
  timer.cancel();
  if (!isComplete) {
    config.logger.warn('timed out waiting for client to create streams', {
      opened: [...opened.keys()],
    });
    connection.close();
    return undefined;
  }
  const gone = new AbortController();
  void connection.closed.then(() =>
    gone.abort(connection.error ?? new Error('the client has closed the connection')),
  );
  const resize = opened.get('resize');
  const error = opened.get('error')!;
  return {
    streams: {
      stdin: opened.get('stdin'),
      stdout: opened.get('stdout'),
      stderr: opened.get('stderr'),
      resize: resize && decodeSizes(resize),
    },
    signal: gone.signal,
    async finish(status) {
      const outcome = encodeOutcome(status, protocol === 'v4.channel.k8s.io');
      if (outcome.length > 0 && !error.destroyed && !error.write(outcome)) {
        await Promise.race([once(error, 'drain'), connection.closed]).catch(() => undefined);
      }
      await Promise.race([endOutput(error), connection.closed]);
      connection.close();
    },
  };
}
