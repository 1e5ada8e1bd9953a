// Accepts WebSocket upgrades: exec and attach on channels, and the tunnel for port-forward's SPDY.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Clock } from '#machinery/clock.ts';
import type { Channels } from './channels.ts';
import { encodeOutcome } from './outcome.ts';
import { decodeSizes } from './resize.ts';
import { DEFAULT_IDLE_TIMEOUT_MS } from './spdy-server.ts';
import type { StreamingServerConfig, StreamOptions } from './types.ts';
import { headerList, negotiate, refuseUpgrade } from './upgrade.ts';
import {
  channel,
  channelProtocol,
  WebSocketChannels,
  webSocketProtocols,
} from './websocket-channels.ts';

const PROTOCOL_HEADER = 'sec-websocket-protocol';
/** The largest accepted message in bytes. Clients send pieces of 32 KiB. */
const MAX_MESSAGE = 16 * 1024 * 1024;
/** The time that a client has to answer the closing handshake. */
const CLOSE_TIMEOUT_MS = 5_000;

const bareServer = new WebSocketServer({
  noServer: true,
  maxPayload: MAX_MESSAGE,
  perMessageDeflate: false,
});

/**
 * Upgrades to a WebSocket with one of `protocols`, or with none if the client named none and
 * `optional` is set. Returns undefined if the client was rejected.
 */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  protocols: readonly string[],
  optional: boolean,
): Promise<{ webSocket: WebSocket; protocol: string } | undefined> {
  const requested = headerList(request, PROTOCOL_HEADER);
  const protocol = requested.length === 0 && optional ? '' : negotiate(requested, protocols);
  if (protocol === undefined) {
    const message =
      `unable to upgrade: requested protocol(s) are not supported: [${requested.join(' ')}]; ` +
      `supports [${protocols.join(' ')}]`;
    refuseUpgrade(socket, 403, message);
    return Promise.resolve(undefined);
  }
  // ws rejects protocol names with a '/', such as the tunnel's. Therefore ws does not see the
  // header, and the response header is written here.
  const { [PROTOCOL_HEADER]: _, ...headers } = request.headers;
  const bare = Object.create(request, { headers: { value: headers } }) as IncomingMessage;
  return new Promise((resolve) => {
    const onHeaders = (lines: string[], of: IncomingMessage): void => {
      if (of === bare && protocol !== '') lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
    };
    const failed = (): void => {
      bareServer.off('headers', onHeaders);
      resolve(undefined);
    };
    bareServer.on('headers', onHeaders);
    socket.once('close', failed);
    bareServer.handleUpgrade(bare, socket, head, (webSocket) => {
      socket.off('close', failed);
      bareServer.off('headers', onHeaders);
      resolve({ webSocket, protocol });
    });
  });
}

/** Closes a WebSocket that was idle for `timeoutMs`. */
function closeWhenIdle(webSocket: WebSocket, clock: Clock, timeoutMs: number): void {
  if (timeoutMs <= 0) return;
  let last = clock.monotonic();
  const touch = (): void => void (last = clock.monotonic());
  for (const event of ['message', 'ping', 'pong'] as const) webSocket.on(event, touch);
  const watch = (): void => {
    const idle = clock.monotonic() - last;
    if (idle >= timeoutMs) webSocket.close(1001, 'idle');
    else timer = clock.setTimer(timeoutMs - idle, watch);
  };
  let timer = clock.setTimer(timeoutMs, watch);
  webSocket.once('close', () => timer.cancel());
}

/**
 * Starts the closing handshake, and destroys the connection if the peer does not answer it.
 * Resolves when the connection is closed.
 */
export async function closeWebSocket(
  webSocket: WebSocket,
  clock: Clock,
  code = 1000,
): Promise<void> {
  if (webSocket.readyState === webSocket.CLOSED) return;
  const closed = new Promise<void>((resolve) => webSocket.once('close', () => resolve()));
  const timer = clock.setTimer(CLOSE_TIMEOUT_MS, () => webSocket.terminate());
  // Further data of the client is dropped, so that its close frame is read.
  webSocket.resume();
  webSocket.close(code);
  await closed;
  timer.cancel();
}

/** Accepts the upgrade of an exec or attach. Returns undefined if the client was rejected. */
export async function openWebSocketChannels(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  options: StreamOptions,
  config: StreamingServerConfig,
): Promise<Channels | undefined> {
  const accepted = await acceptWebSocket(request, socket, head, webSocketProtocols, true);
  if (accepted === undefined) return undefined;
  const { webSocket } = accepted;
  const protocol = channelProtocol(accepted.protocol);
  closeWhenIdle(webSocket, config.clock, config.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS);
  const gone = new AbortController();
  webSocket.once('close', () => gone.abort(new Error('the client has closed the connection')));
  const channels = new WebSocketChannels(webSocket, protocol);
  const hasStderr = options.stderr && !options.tty;
  // An empty message shows the client that the connection is open.
  const first = options.stdout ? channel.stdout : hasStderr ? channel.stderr : channel.error;
  channels.send(first, Buffer.alloc(0), () => undefined);
  return {
    streams: {
      stdin: options.stdin ? channels.reader(channel.stdin) : undefined,
      stdout: options.stdout ? channels.writer(channel.stdout) : undefined,
      stderr: hasStderr ? channels.writer(channel.stderr) : undefined,
      resize: options.tty ? decodeSizes(channels.reader(channel.resize)) : undefined,
    },
    signal: gone.signal,
    async finish(status) {
      const outcome = encodeOutcome(status, protocol.jsonOutcome);
      if (outcome.length > 0)
        await new Promise<void>((resolve) =>
          channels.send(channel.error, outcome, () => resolve()),
        );
      await closeWebSocket(webSocket, config.clock);
    },
  };
}
