// Port-forward on the channels of a WebSocket, for clients without SPDY. The query names the ports,
// one connection each. The n-th has channel 2n for data and 2n + 1 for errors. The first message on
// both is the port, so that the client can match them.

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { errorMessage } from '#machinery/error-message.ts';
import type { WebSocket } from 'ws';
import { endOutput } from './channels.ts';
import type { PortForwardHandler, StreamingServerConfig } from './types.ts';
import { channelProtocol, WebSocketChannels } from './websocket-channels.ts';
import { closeWebSocket } from './websocket-server.ts';

export const channelPortForwardProtocols = [
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
] as const;

/** Channel numbers are bytes, and each port needs two. */
const MAX_PORTS = 100;

/** Returns the values of `port` in the request's query, or an error text. */
export function portsOf(request: Pick<IncomingMessage, 'url'>): readonly number[] | string {
  const texts = new URL(request.url ?? '/', 'http://kubelet').searchParams
    .getAll('port')
    .flatMap((value) => value.split(','));
  if (texts.length === 0) return 'query parameter "port" is required';
  if (texts.length > MAX_PORTS) return `at most ${MAX_PORTS} ports can be forwarded at once`;
  const invalidPort = texts.find(
    (text) => !/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65535,
  );
  return invalidPort === undefined
    ? texts.map(Number)
    : `${JSON.stringify(invalidPort)} is not a port: a number from 1 to 65535`;
}

/**
 * Serves one connection to each port. Closes the WebSocket when all are over or the client
 * disconnects.
 */
export async function servePortForwardOnChannels(
  webSocket: WebSocket,
  protocol: string,
  ports: readonly number[],
  handler: PortForwardHandler,
  config: StreamingServerConfig,
): Promise<void> {
  const gone = new AbortController();
  webSocket.once('close', () => gone.abort(new Error('the client has closed the connection')));
  const channels = new WebSocketChannels(webSocket, channelProtocol(protocol));
  await Promise.all(
    ports.map((port, index) => forward(channels, 2 * index, port, handler, gone.signal)),
  );
  await closeWebSocket(webSocket, config.clock);
}

async function forward(
  channels: WebSocketChannels,
  first: number,
  port: number,
  handler: PortForwardHandler,
  signal: AbortSignal,
): Promise<void> {
  const announcement = Buffer.from([port & 0xff, port >> 8]);
  const data = Duplex.from({ readable: channels.reader(first), writable: channels.writer(first) });
  const error = channels.writer(first + 1);
  for (const stream of [data, error]) {
    // `signal` reports that the client has disconnected.
    stream.on('error', () => undefined);
    stream.write(announcement);
  }
  try {
    await handler(port, data, signal);
  } catch (error_) {
    if (!error.destroyed) error.write(errorMessage(error_));
  }
  const ended = Promise.all([endOutput(error), endOutput(data)]);
  if (!signal.aborted) await Promise.race([ended, once(signal, 'abort')]);
  error.destroy();
  data.destroy();
}
