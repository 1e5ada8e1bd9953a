// The kubelet's own API: pods, logs, exec, attach, port-forward, stats and metrics. Clients connect
// over TLS, with a client certificate or a bearer token, or in the same process over any stream.

import {
  createServer as createHttpServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { isOfForeignPage } from '#machinery/net/origin.ts';
import {
  closeConnection,
  ConnectionTable,
  peerNotAfter,
  reportRequests,
  track,
} from '#machinery/serving/index.ts';
import type { ServerUser } from './access.ts';
import type { KubeletServerConfig } from './config.ts';
import { pathOf } from './http-request.ts';
import type { OpenPort } from './listeners.ts';
import { requestAttributes, type RequestAttributes } from './request-attributes.ts';
import { Routes } from './routes.ts';

/** Authorizers allow this group everything, so they are not asked. */
const MASTERS = 'system:masters';
const AUTHENTICATED = 'system:authenticated';

/**
 * The bytes of a request's line and headers, as Go's servers allow: the query has the whole command
 * of an exec.
 */
const MAX_HEADER_BYTES = 1024 * 1024;

/** A request that is not served, and the response in its place. */
interface Refusal {
  readonly code: 401 | 403 | 500;
  readonly message: string;
}

export class KubeletServer {
  readonly #config: KubeletServerConfig;
  readonly #routes: Routes;
  /** Parses the requests of connections; it never listens itself. */
  readonly #http: Server;
  #open: OpenPort | undefined;
  readonly #users = new WeakMap<object, ServerUser>();
  /** When the client certificates of TLS connections expire, in wall-clock milliseconds. */
  readonly #notAfter = new WeakMap<object, number>();
  readonly #connections = new Set<Duplex>();
  /** The monotonic time at which the last connection was closed. */
  #lastUsed = Number.NEGATIVE_INFINITY;
  /** Time limits of the connections to the port. */
  readonly #table: ConnectionTable;

  constructor(config: KubeletServerConfig) {
    this.#config = config;
    this.#routes = new Routes(config, () => this.port);
    const { clock, logger, connectionLimits: limits } = config;
    this.#table = new ConnectionTable({ clock, logger, limits });
    this.#http = createHttpServer({ maxHeaderSize: MAX_HEADER_BYTES });
    reportRequests(this.#http);
    this.#http.on('request', (request, response) => this.#onRequest(request, response));
    this.#http.on('upgrade', (request, socket, head) => this.#onUpgrade(request, socket, head));
    // No time limit, because of followed logs and sessions.
    this.#http.requestTimeout = 0;
    this.#http.timeout = 0;
  }

  /** The open port; 0 without one. */
  get port(): number {
    return this.#open?.port ?? 0;
  }

  /** Reports whether no connection is open, and none was for so many milliseconds. */
  isUnused(forMs: number): boolean {
    return this.#connections.size === 0 && this.#config.clock.monotonic() - this.#lastUsed >= forMs;
  }

  /** Opens the configured port, if there is one. Rejects if it cannot be opened. */
  async listen(): Promise<void> {
    const { listen } = this.#config;
    if (listen === undefined) return;
    const secured = (socket: TLSSocket): void => {
      track(socket, this.#table.secured(socket));
      const user = userOf(socket);
      if (user !== undefined) {
        this.#users.set(socket, user);
        this.#notAfter.set(socket, peerNotAfter(socket));
      }
      this.#serve(socket);
    };
    const handlers = { accepted: (socket: Socket) => this.#table.accepted(socket), secured };
    try {
      this.#open = await listen.listeners.open(listen.port, handlers, listen.orFreePort);
    } catch (error) {
      if (listen.optional !== true) throw error;
      this.#config.logger.warn('kubelet: listening failed', {
        node: this.#config.nodeName,
        port: listen.port,
        err: error,
      });
    }
  }

  /** Serves a connection of this user. */
  handleConnection(connection: Duplex, user: ServerUser): void {
    this.#users.set(connection, user);
    this.#serve(connection);
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
    this.#table.destroyAll();
    await this.#open?.close();
    this.#open = undefined;
  }

  #serve(connection: Duplex): void {
    this.#connections.add(connection);
    connection.once('close', () => {
      this.#connections.delete(connection);
      this.#lastUsed = this.#config.clock.monotonic();
    });
    connection.on('error', (err) =>
      this.#config.logger.debug('kubelet: connection failed', { err }),
    );
    this.#http.emit('connection', connection);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    void this.#refusal(request).then(async (refusal) => {
      if (refusal === undefined) {
        await this.#config.completePods?.();
        return this.#routes.handle(request, response);
      }
      response
        .writeHead(refusal.code, { 'Content-Type': 'text/plain; charset=utf-8' })
        .end(refusal.message);
      return undefined;
    });
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    void this.#refusal(request).then(async (refusal) => {
      if (refusal === undefined) {
        await this.#config.completePods?.();
        return this.#routes.handleUpgrade(request, socket, head);
      }
      const { code, message } = refusal;
      socket.write(
        `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\nContent-Type: text/plain; ` +
          'charset=utf-8\r\nConnection: close\r\n' +
          `Content-Length: ${Buffer.byteLength(message)}\r\n\r\n${message}`,
      );
      closeConnection(socket);
      return undefined;
    });
  }

  /**
   * Returns the error response for a rejected request; undefined for an allowed one. Never rejects.
   */
  async #refusal(request: IncomingMessage): Promise<Refusal | undefined> {
    const { access, logger, nodeName } = this.#config;
    const user = await this.#user(request);
    if (user === undefined) return { code: 401, message: 'Unauthorized' };
    if (user.groups.includes(MASTERS)) return undefined;
    let attributes: RequestAttributes;
    try {
      attributes = requestAttributes(request.method ?? 'GET', pathOf(request));
    } catch {
      // A path that cannot be decoded has no route.
      attributes = { verb: '', subresources: ['proxy'] };
    }
    const { verb, subresources } = attributes;
    try {
      if (await access.authorize(user, attributes)) return undefined;
    } catch (error) {
      logger.warn('kubelet: authorization failed', { node: nodeName, user: user.name, err: error });
      return {
        code: 500,
        message:
          `Authorization error (user=${user.name}, verb=${verb}, resource=nodes, ` +
          `subresource=${subresources[0]})`,
      };
    }
    return {
      code: 403,
      message:
        `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, ` +
        `subresource(s)=[${subresources.join(' ')}])\n`,
    };
  }

  /**
   * Returns the user of the connection, or of the request's bearer token. Undefined for anonymous
   * requests: they are not served.
   */
  async #user(request: IncomingMessage): Promise<ServerUser | undefined> {
    const user = this.#users.get(request.socket);
    // A certificate that has expired since the handshake does not count.
    const expired =
      this.#config.clock.now() > (this.#notAfter.get(request.socket) ?? Number.POSITIVE_INFINITY);
    // A browser sends the certificate with the requests of any page.
    if (user !== undefined && !expired && !isOfForeignPage(request.headers)) return user;
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) return undefined;
    try {
      return await this.#config.access.authenticate(token);
    } catch (error) {
      this.#config.logger.warn('kubelet: authentication failed', {
        node: this.#config.nodeName,
        err: error,
      });
      return undefined;
    }
  }
}

function userOf(socket: TLSSocket): ServerUser | undefined {
  if (!socket.authorized) return undefined;
  // Node's types promise a subject, but an absent certificate has none.
  const subject = (
    socket.getPeerCertificate() as {
      readonly subject?: Readonly<Record<string, string | string[]>>;
    }
  ).subject;
  const name = [subject?.['CN'] ?? []].flat().at(-1);
  return name === undefined
    ? undefined
    : { name, groups: [...[subject?.['O'] ?? []].flat(), AUTHENTICATED] };
}
