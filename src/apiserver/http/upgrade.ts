// Serves requests that ask for another protocol on their connection.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import type { Logger } from '#machinery/log.ts';
import type { Handler, Upgrade } from '../request.ts';
import type { RequestState } from '../request-state.ts';
import { ANSWERED, answerWithoutUpgrade, CLIENT_GONE } from './http1.ts';
import { goesOverWebSocket, sendOverWebSocket } from './websocket.ts';

export interface UpgradingServer {
  readonly handler: Handler;
  readonly logger: Logger;
  /** Returns the request, which counts as one in flight from now on. */
  begin(upgrade: Upgrade): RequestState;
  /** Closes the connection after a response without an upgrade. */
  close(): void;
  /** Is called when the request is in flight no longer. */
  finished(request: RequestState): void;
}

/**
 * Serves an upgrade request of HTTP/1.1 on its socket. `head`: what the client has sent after the
 * request. Resolves when the request, or the session that it has begun, is over.
 */
export async function serveUpgrade(
  server: UpgradingServer,
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  let isTaken = false;
  const ignore = (): void => undefined;
  const request = server.begin({
    take: () => {
      isTaken = true;
      socket.off('error', ignore);
      return { socket, head };
    },
  });
  socket.on('error', ignore);
  socket.once('close', () => request.abort(CLIENT_GONE));
  try {
    const response = await server.handler(request);
    if (response.body.kind === 'taken') {
      request.signal.addEventListener('abort', () => socket.destroy(), { once: true });
      await response.body.done;
    } else if (!isTaken && goesOverWebSocket(request, response))
      await sendOverWebSocket(response, message, socket, head);
    else if (!isTaken)
      await answerWithoutUpgrade(request, response, message, socket, () => server.close());
  } catch (error) {
    server.logger.error('upgraded connection failed', { path: request.path, err: error });
    socket.destroy();
  } finally {
    request.abort(ANSWERED);
    server.finished(request);
  }
}
