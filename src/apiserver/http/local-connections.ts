// Serves HTTP/1.1 on connections inside the process, so that HTTP clients can reach the server
// without a port. The user is fixed for each connection; headers cannot change it, except by
// impersonation, which the handler chain authorizes. Connections that workers pass on have no user:
// their requests are authenticated.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import type { Logger } from '#machinery/log.ts';
import { LinkedList } from '#machinery/collections/linked-list.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import type { ApiRequest, Handler, RequestBody, Upgrade, UserInfo } from '../request.ts';
import { RequestState } from '../request-state.ts';
import { bodyOf, noBody } from './body-reader.ts';
import { ANSWERED, CLIENT_GONE, flat, giveUp, Http1Sink, splitTarget } from './http1.ts';
import { respond } from './respond.ts';
import { serveUpgrade, type UpgradingServer } from './upgrade.ts';

export interface LocalConnectionsConfig {
  readonly handler: Handler;
  readonly logger: Logger;
}

/** The client of a connection. */
interface Peer {
  readonly user: UserInfo | undefined;
  readonly remoteAddress: string;
}

/** The header limit of the secure port, since selectors may be long. */
const MAX_HEADER_BYTES = 1024 * 1024;

export class LocalConnections {
  readonly #config: LocalConnectionsConfig;
  /** Parses requests. It never listens. */
  readonly #server: Server;
  readonly #peers = new WeakMap<object, Peer>();
  readonly #connections = new Set<Duplex>();
  readonly #requests = new LinkedList<RequestState>();

  constructor(config: LocalConnectionsConfig) {
    this.#config = config;
    this.#server = createServer({
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout: 0,
    });
    this.#server.on('request', (message, response) => this.#request(message, response));
    this.#server.on('upgrade', (message, socket, head) => this.#upgrade(message, socket, head));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /**
   * Returns the client's end of a new connection. All requests on it are made by `user`. Without a
   * user they are authenticated.
   */
  open(user: UserInfo | undefined, remoteAddress = '127.0.0.1'): Duplex {
    const [near, far] = duplexPair();
    this.#peers.set(far, { user, remoteAddress });
    this.#connections.add(far);
    far.once('close', () => this.#connections.delete(far));
    far.on('error', (error) =>
      this.#config.logger.debug('in-process connection failed', { err: error }),
    );
    this.#server.emit('connection', far);
    return near;
  }

  /** The requests in flight. */
  get requests(): Iterable<ApiRequest & { abort(reason: unknown): void }> {
    return this.#requests;
  }

  /** Aborts every request and closes every connection. */
  close(reason: unknown): void {
    for (const request of this.#requests) request.abort(reason);
    for (const connection of this.#connections) connection.destroy();
  }

  #state(message: IncomingMessage, body: RequestBody, upgrade?: Upgrade): RequestState {
    const { path, query } = splitTarget(message.url ?? '');
    const request = new RequestState({
      method: message.method ?? '',
      path,
      query,
      headers: flat(message.headers),
      rawHeaders: message.rawHeaders,
      body,
      ...(this.#peers.get(message.socket) as Peer),
      upgrade,
    });
    this.#requests.add(request);
    return request;
  }

  #request(message: IncomingMessage, response: ServerResponse): void {
    const length = message.headers['content-length'];
    const hasBody = length !== undefined || message.headers['transfer-encoding'] !== undefined;
    const request = this.#state(message, hasBody ? bodyOf(message, length) : noBody);
    response.on('close', () => request.abort(CLIENT_GONE));
    response.on('error', (error) => request.abort(error));
    void this.#serve(request, new Http1Sink(response));
  }

  async #serve(request: RequestState, sink: Http1Sink): Promise<void> {
    try {
      const response = await this.#config.handler(request);
      if (sink.open) await respond(request, response, sink);
      else if (response.body.kind === 'watch') response.body.events.stop();
    } catch (error) {
      this.#config.logger.error('sending a response failed', {
        method: request.method,
        path: request.path,
        err: error,
      });
      giveUp(request, sink);
    } finally {
      request.abort(ANSWERED);
      this.#requests.delete(request);
    }
  }

  #upgrade(message: IncomingMessage, socket: Duplex, head: Buffer): void {
    const server: UpgradingServer = {
      ...this.#config,
      begin: (upgrade) => this.#state(message, noBody, upgrade),
      close: () => void socket.end(),
      finished: (request) => this.#requests.delete(request),
    };
    void serveUpgrade(server, message, socket, head);
  }
}
