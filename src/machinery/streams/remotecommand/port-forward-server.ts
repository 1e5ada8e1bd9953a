// Port-forward over SPDY. For every connection the client opens a stream of type error and one of
// type data, with the same `port` and `requestid`. If the connection fails, the error stream
// carries the reason.

import type { Duplex } from 'node:stream';
import { errorMessage } from '#machinery/error-message.ts';
import { SpdyConnection, type SpdyStream } from '../spdy/index.ts';
import { endOutput } from './channels.ts';
import { DEFAULT_IDLE_TIMEOUT_MS, DEFAULT_STREAM_CREATION_TIMEOUT_MS } from './spdy-server.ts';
import type { PortForwardHandler, StreamingServerConfig } from './types.ts';

export const portForwardProtocol = 'portforward.k8s.io';
/** The same protocol inside a WebSocket. */
export const tunnelledPortForwardProtocol = `SPDY/3.1+${portForwardProtocol}`;

interface StreamPair {
  error?: SpdyStream;
  data?: SpdyStream;
  /** Cancels the time limit for the second stream of the pair. */
  cancelTimeout: () => void;
}

function portOf(stream: SpdyStream): number | undefined {
  const text = stream.header('port') ?? '';
  const port = Number(text);
  return /^\d{1,5}$/.test(text) && port >= 1 && port <= 65535 ? port : undefined;
}

/**
 * Returns the ID of a request. Clients that do not name their requests open the error stream first,
 * and the data stream right after it.
 */
function requestIdOf(stream: SpdyStream, type: string): string {
  return stream.header('requestid') ?? `stream ${type === 'error' ? stream.id : stream.id - 2}`;
}

async function forward(
  pair: Required<Pick<StreamPair, 'error' | 'data'>>,
  handler: PortForwardHandler,
  signal: AbortSignal,
): Promise<void> {
  const { error, data } = pair;
  try {
    await handler(portOf(data)!, data, signal);
  } catch (error_) {
    if (!error.destroyed) error.write(errorMessage(error_));
  }
  await Promise.race([
    Promise.all([endOutput(error), endOutput(data)]),
    new Promise((resolve) => signal.addEventListener('abort', resolve)),
  ]);
  error.destroy();
  data.destroy();
}

/** Serves connections until the client disconnects. */
export async function servePortForwardOnSpdy(
  socket: Duplex,
  head: Buffer,
  handler: PortForwardHandler,
  config: StreamingServerConfig,
): Promise<void> {
  const { clock, logger } = config;
  const pairs = new Map<string, StreamPair>();
  const gone = new AbortController();
  const running = new Set<Promise<void>>();
  const giveUp = (id: string): void => {
    logger.warn('timed out waiting for the streams of a port-forward request', { requestId: id });
    const pair = pairs.get(id);
    pairs.delete(id);
    if (pair?.error && !pair.error.destroyed) pair.error.end('timed out waiting for streams');
    pair?.data?.destroy();
  };
  const connection = new SpdyConnection({
    socket,
    head,
    side: 'server',
    clock,
    idleTimeoutMs: config.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
    onStream(stream) {
      stream.on('error', () => undefined);
      const type = stream.header('streamtype') ?? '';
      if ((type !== 'error' && type !== 'data') || portOf(stream) === undefined) {
        logger.warn('invalid port-forward stream', {
          streamType: type,
          port: stream.header('port'),
        });
        stream.destroy();
        return;
      }
      const id = requestIdOf(stream, type);
      let pair = pairs.get(id);
      if (pair === undefined) {
        const timer = clock.setTimer(
          config.streamCreationTimeoutMs ?? DEFAULT_STREAM_CREATION_TIMEOUT_MS,
          () => giveUp(id),
        );
        pair = { cancelTimeout: () => timer.cancel() };
        pairs.set(id, pair);
      }
      if (pair[type] !== undefined) {
        logger.warn('duplicate port-forward stream', { streamType: type, requestId: id });
        stream.destroy();
        return;
      }
      pair[type] = stream;
      const { error, data } = pair;
      if (error === undefined || data === undefined) return;
      pair.cancelTimeout();
      pairs.delete(id);
      const forwarding = forward({ error, data }, handler, gone.signal).finally(() =>
        running.delete(forwarding),
      );
      running.add(forwarding);
    },
  });
  await connection.closed;
  for (const pair of pairs.values()) pair.cancelTimeout();
  gone.abort(connection.error ?? new Error('the client has closed the connection'));
  await Promise.all(running);
}
