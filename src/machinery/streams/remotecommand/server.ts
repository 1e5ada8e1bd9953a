// The server: accepts the upgrade of an exec, attach or port-forward request and uses the client's
// protocol.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { runOnChannels } from './channels.ts';
import {
  channelPortForwardProtocols,
  portsOf,
  servePortForwardOnChannels,
} from './port-forward-channels.ts';
import {
  portForwardProtocol,
  servePortForwardOnSpdy,
  tunnelledPortForwardProtocol,
} from './port-forward-server.ts';
import { openSpdyChannels } from './spdy-server.ts';
import { webSocketTunnel } from './tunnel.ts';
import type {
  PortForwardHandler,
  RemoteCommandHandler,
  StreamingServerConfig,
  StreamOptions,
} from './types.ts';
import { acceptSpdy, headerList, refuseUpgrade, upgradeKind } from './upgrade.ts';
import { acceptWebSocket, openWebSocketChannels } from './websocket-server.ts';

const NOT_AN_UPGRADE =
  "unable to upgrade: missing upgrade headers in request: 'Connection: Upgrade' with " +
  "'Upgrade: SPDY/3.1' or 'websocket'";

/**
 * Serves one exec or attach on an upgrade request (node:http's 'upgrade' event): SPDY/3.1 with the
 * stream protocols v1 to v4, or WebSocket with `v5.channel.k8s.io`, `v4.channel.k8s.io`,
 * `channel.k8s.io` and their base64 variants. The caller authorizes the request first. Other
 * requests get an error (400, 403) and are closed. Resolves when the connection is over; never
 * rejects.
 */
export async function serveRemoteCommand(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  options: StreamOptions,
  handler: RemoteCommandHandler,
  config: StreamingServerConfig,
): Promise<void> {
  const kind = upgradeKind(request);
  if (kind === 'none') return refuseUpgrade(socket, 400, NOT_AN_UPGRADE);
  if (!options.stdin && !options.stdout && !options.stderr) {
    return refuseUpgrade(socket, 400, 'you must specify at least 1 of stdin, stdout, stderr');
  }
  // A peer that disconnects during the handshake is seen by 'close'.
  socket.on('error', () => undefined);
  const open = kind === 'spdy' ? openSpdyChannels : openWebSocketChannels;
  const channels = await open(request, socket, head, options, config);
  if (channels === undefined) return;
  const status = await runOnChannels(channels, handler);
  if (status.status !== 'Success')
    config.logger.debug('a streamed command failed', {
      reason: status.reason,
      message: status.message,
    });
}

/**
 * Serves a port-forward on an upgrade request, and passes each connection to `handler`. The
 * protocols are:
 *
 * - SPDY/3.1 with `portforward.k8s.io`, or the same inside a WebSocket
 *   (`SPDY/3.1+portforward.k8s.io`): any number of connections to any ports over one upgrade;
 * - WebSocket with `v4.channel.k8s.io` or its base64 variant: one connection to each `port` of the
 *   query.
 *
 * Resolves when all connections are over; never rejects.
 */
export async function servePortForward(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  handler: PortForwardHandler,
  config: StreamingServerConfig,
): Promise<void> {
  socket.on('error', () => undefined);
  switch (upgradeKind(request)) {
    case 'none':
      return refuseUpgrade(socket, 400, NOT_AN_UPGRADE);
    case 'spdy':
      if (acceptSpdy(request, socket, [portForwardProtocol]) === undefined) return;
      return servePortForwardOnSpdy(socket, head, handler, config);
    case 'websocket': {
      // The ports are checked before the upgrade: later they could not be rejected.
      const tunnelled = headerList(request, 'sec-websocket-protocol').includes(
        tunnelledPortForwardProtocol,
      );
      const ports = tunnelled ? [] : portsOf(request);
      if (typeof ports === 'string') return refuseUpgrade(socket, 400, ports);
      const protocols = tunnelled ? [tunnelledPortForwardProtocol] : channelPortForwardProtocols;
      const accepted = await acceptWebSocket(request, socket, head, protocols, false);
      if (accepted === undefined) return;
      const { webSocket, protocol } = accepted;
      if (!tunnelled)
        return servePortForwardOnChannels(webSocket, protocol, ports, handler, config);
      return servePortForwardOnSpdy(webSocketTunnel(webSocket), Buffer.alloc(0), handler, config);
    }
  }
}

/**
 * Reports whether the request asks for an upgrade that the functions above support. If not, the
 * caller responds with plain HTTP (400).
 */
export function isStreamingUpgrade(request: Pick<IncomingMessage, 'headers'>): boolean {
  return upgradeKind(request) !== 'none';
}
