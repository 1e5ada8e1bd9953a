// The server's end: accepts the upgrade of an exec, attach or port-forward request and speaks whatever the client speaks.

import type { Duplex } from 'node:stream';
import type { PortForwardHandler, RemoteCommandHandler, StreamingServerConfig, StreamOptions, UpgradeRequest } from './types.ts';

/**
 * Serves one exec or attach on an upgrade request: SPDY/3.1 with the stream protocols v1 to v4, or WebSocket with
 * `v5.channel.k8s.io`, `v4.channel.k8s.io`, `channel.k8s.io` and their base64 kin. Authorize before calling.
 * A request that is none of these is answered (400, 403) and closed. Resolves when all is over; never rejects.
 */
export function serveRemoteCommand(
  request: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  options: StreamOptions,
  handler: RemoteCommandHandler,
  config: StreamingServerConfig,
): Promise<void> {
  void [request, socket, head, options, handler, config];
  throw new Error('serveRemoteCommand: being written');
}

/**
 * Serves a port-forward on an upgrade request: SPDY/3.1 with `portforward.k8s.io`, or the same inside a WebSocket
 * (`SPDY/3.1+portforward.k8s.io`). Any number of connections to any ports over one upgrade; each is handed to `handler`.
 * Resolves when all is over; never rejects.
 */
export function servePortForward(
  request: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  handler: PortForwardHandler,
  config: StreamingServerConfig,
): Promise<void> {
  void [request, socket, head, handler, config];
  throw new Error('servePortForward: being written');
}

/** Whether the request asks for an upgrade that the functions above understand; if not, answer it as plain HTTP (400). */
export function isStreamingUpgrade(request: UpgradeRequest): boolean {
  void request;
  throw new Error('isStreamingUpgrade: being written');
}
