// What stands behind a listener: requests go through the chain, and what it answers goes to where they came from, whether the
// connection is in this thread or in another.

import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import * as apierrors from '../../machinery/apierrors.ts';
import type { Logger } from '../../machinery/log.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { type RequestFields, RequestState } from '../request-state.ts';
import { CLIENT_GONE } from './request-acceptor.ts';
import type { AcceptedRequest, RequestAcceptor, UpgradedConnection } from './request-acceptor.ts';
import { respond } from './respond.ts';
import { type ConnectionSink, Http1Sink } from './sink.ts';
import { TurnGate } from './turn-gate.ts';
import { goesOverWebSocket, sendOverWebSocket } from './websocket.ts';

export interface RequestServerConfig {
  readonly handler: Handler;
  readonly logger: Logger;
}

export class RequestServer implements RequestAcceptor {
  readonly #handler: Handler;
  readonly #logger: Logger;
  readonly #requests = new Set<ApiRequest>();
  /** So that many requests at once do not keep the event loop from everything else. */
  readonly #gate = new TurnGate();

  constructor({ handler, logger }: RequestServerConfig) {
    this.#handler = handler;
    this.#logger = logger;
  }

  /** Requests that are being answered. */
  get requests(): ReadonlySet<ApiRequest> {
    return this.#requests;
  }

  abort(reason: unknown): void {
    for (const request of this.#requests) request.abort(reason);
  }

  /** Serves it in this turn of the event loop or in one of the next. */
  begin(fields: RequestFields, sink: ConnectionSink): AcceptedRequest {
    const request = new RequestState(fields);
    this.#requests.add(request);
    this.#gate.begin(() => void this.#serve(request, sink));
    return request;
  }

  upgrade(fields: RequestFields, { message, socket, head }: UpgradedConnection): void {
    let taken = false;
    const ignore = (): void => undefined;
    const request = new RequestState({
      ...fields,
      upgrade: {
        take: () => {
          taken = true;
          socket.off('error', ignore);
          return { socket, head };
        },
      },
    });
    socket.on('error', ignore);
    socket.once('close', () => request.abort(CLIENT_GONE));
    this.#requests.add(request);
    void this.#handler(request)
      .then(async (response) => {
        if (response.body.kind === 'taken') await response.body.done;
        else if (!taken && goesOverWebSocket(request, response)) await sendOverWebSocket(response, message, socket, head);
        else if (!taken) await answerWithoutUpgrade(request, response, message, socket);
      })
      .catch((error: unknown) => {
        this.#logger.error('an upgraded connection failed', { path: request.path, err: error });
        socket.destroy();
      })
      .finally(() => this.#requests.delete(request));
  }

  async #serve(request: RequestState, sink: ConnectionSink): Promise<void> {
    try {
      // Its client may have left while it waited for its turn.
      if (!sink.open) return;
      const response = await this.#handler(request);
      if (!sink.open) {
        if (response.body.kind === 'watch') response.body.events.stop();
        return;
      }
      await respond(request, response, sink);
    } catch (error) {
      this.#logger.error('a response could not be sent', { method: request.method, path: request.path, err: error });
      giveUp(sink);
    } finally {
      this.#requests.delete(request);
    }
  }
}

/** Whoever serves the path has no use for another protocol: the request is answered like any other, and the connection closed. */
async function answerWithoutUpgrade(
  request: RequestState,
  answer: ApiResponse,
  message: IncomingMessage,
  socket: Duplex,
): Promise<void> {
  const response = new ServerResponse(message);
  response.shouldKeepAlive = false;
  // Node has let go of the connection, and nobody else would pass this on.
  socket.on('drain', () => response.emit('drain'));
  response.on('error', (error) => request.abort(error));
  response.once('finish', () => socket.end());
  response.assignSocket(socket as Socket);
  await respond(request, answer, new Http1Sink(response));
}

/** What cannot be sent is still answered, while that can be done; afterwards only a broken stream tells that something is missing. */
function giveUp(sink: ConnectionSink): void {
  if (!sink.open) return;
  if (sink.begun) {
    sink.writable.destroy(new Error('the response could not be sent entirely'));
    return;
  }
  const { status } = apierrors.internalError('the response could not be sent; the log of the API server says why');
  sink.whole(500, { 'content-type': 'application/json' }, Buffer.from(JSON.stringify(status), 'utf8'));
}
