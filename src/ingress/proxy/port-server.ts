// A server at one address and port: HTTP/1.1 and HTTP/2 on the same socket, chosen by ALPN with TLS
// and by the client's first bytes without.

import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server as HttpServer,
  ServerResponse,
} from 'node:http';
import {
  constants,
  createServer as createHttp2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { acceptStream, closeSession, closeStreamLater } from '#machinery/net/http2-close.ts';
import type { Certificate, ServerSpec } from '../model.ts';
import { Router } from '../routing/router.ts';
import { Exchange, type ExchangeServices } from './exchange.ts';
import { Http1Front } from './front-http1.ts';
import { Http2Front } from './front-http2.ts';
import { answer } from './local-answer.ts';
import { upgrade } from './upgrade.ts';

/** Limits of one client, and of all. */
const MAX_CONNECTIONS = 20_000;
const MAX_HEADER_BYTES = 32 * 1024;
const MAX_HEADERS = 200;
const HEADERS_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_MS = 75_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
const MAX_STREAMS = 250;
const STREAM_WINDOW = 256 * 1024;
const SESSION_WINDOW = 1024 * 1024;
/** The connection preface of HTTP/2 (RFC 9113, section 3.4). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export class PortServer {
  readonly #logger: Logger;
  readonly #services: ExchangeServices;
  readonly #tls: boolean;
  readonly #server: HttpServer;
  readonly #http2 = createHttp2Server({
    maxSessionMemory: 16,
    maxHeaderListPairs: MAX_HEADERS,
    settings: {
      maxConcurrentStreams: MAX_STREAMS,
      maxHeaderListSize: MAX_HEADER_BYTES,
      initialWindowSize: STREAM_WINDOW,
    },
  });
  readonly #sessions = new Set<Http2Session>();
  readonly #sockets = new Set<Socket>();
  readonly #upgraded = new Set<Duplex>();
  readonly #contexts = new Map<string, SecureContext>();
  #router: Router;
  #draining = false;
  /** The connection of the session that is being created. */
  #connecting: Socket | undefined;
  /** The number of open streams per session. */
  readonly #open = new WeakMap<Http2Session, number>();

  constructor(spec: ServerSpec, services: ExchangeServices, logger: Logger) {
    this.#logger = logger;
    this.#services = services;
    this.#tls = spec.tls;
    const options = {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // No time limit for bodies.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: 5000,
      noDelay: true,
    };
    this.#server = spec.tls
      ? createHttpsServer({
          ...options,
          ALPNProtocols: ['h2', 'http/1.1'],
          minVersion: 'TLSv1.2',
          handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
          SNICallback: (serverName, callback) => this.#contextFor(serverName, callback),
        })
      : createHttpServer(options);
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.maxHeadersCount = MAX_HEADERS;
    this.#router = new Router(spec);
    this.#handleHttp1();
    this.#handleHttp2();
    this.#chooseProtocol();
    this.update(spec);
  }

  /** Starts listening. Rejects if the address and port cannot be used. */
  listen(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host: address, port, backlog: 1024 }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (err) => this.#logger.warn('ingress server: error', { err }));
        const at = this.#server.address();
        resolve(typeof at === 'object' && at !== null ? at.port : port);
      });
    });
  }

  /** Applies a new configuration to requests and handshakes that begin from now on. */
  update(spec: ServerSpec): void {
    this.#router = new Router(spec);
    if (!this.#tls) return;
    const present = new Set(
      spec.listeners.flatMap(({ certificates }) => certificates.map(({ id }) => id)),
    );
    for (const id of this.#contexts.keys()) if (!present.has(id)) this.#contexts.delete(id);
    // The certificate for clients without SNI.
    const fallback = this.#router.certificate('');
    const server = this.#server as HttpServer & { setSecureContext(options: object): void };
    server.setSecureContext(
      fallback === undefined
        ? {}
        : { cert: fallback.cert, key: fallback.key, minVersion: 'TLSv1.2' },
    );
  }

  /**
   * Accepts no more connections, lets requests in flight finish, and closes the rest after the
   * timeout.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    for (const session of this.#sessions) closeSession(session);
    const timer = this.#services.clock.setTimer(timeoutMs, () => {
      for (const socket of [...this.#sockets, ...this.#upgraded]) socket.destroy();
    });
    await closed;
    timer.cancel();
  }

  #handleHttp1(): void {
    const server = this.#server;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (this.#draining) response.shouldKeepAlive = false;
      this.#run(
        new Exchange(new Http1Front(request, response, this.#tls), this.#services).run(
          this.#router,
        ),
        () => response.destroy(),
      );
    });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => undefined);
      const running = upgrade(
        { request, socket, head, encrypted: this.#tls },
        this.#router,
        this.#services,
        (connection) => {
          this.#upgraded.add(connection);
          connection.once('close', () => this.#upgraded.delete(connection));
        },
      );
      this.#run(running, () => socket.destroy());
    });
    server.on('connect', (request: IncomingMessage, socket: Duplex) => {
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Socket);
      response.on('finish', () => void socket.end());
      answer(new Http1Front(request, response, this.#tls), 405, 'this is no forward proxy');
    });
    server.on('clientError', (err: NodeJS.ErrnoException, socket: Duplex) => {
      this.#services.metrics.malformed();
      if (err.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
      const status =
        err.code === 'HPE_HEADER_OVERFLOW'
          ? '431 Request Header Fields Too Large'
          : err.code === 'ERR_HTTP_REQUEST_TIMEOUT'
            ? '408 Request Timeout'
            : '400 Bad Request';
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    });
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      this.#services.metrics.connectionsChanged(1);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#services.metrics.connectionsChanged(-1);
      });
    });
    server.on('tlsClientError', (err: Error, socket: TLSSocket) => {
      this.#services.metrics.handshakeFailed();
      this.#logger.debug('TLS handshake failed', { reason: errorMessage(err) });
      socket.destroy();
    });
  }

  #handleHttp2(): void {
    this.#http2.on('session', (session: Http2Session): void => {
      if (this.#connecting !== undefined) socketOf.set(session, this.#connecting);
      if (this.#draining) closeSession(session);
      this.#sessions.add(session);
      session.setLocalWindowSize(SESSION_WINDOW);
      session.setTimeout(KEEP_ALIVE_MS, () => {
        // Silent streams, such as watches, keep the session open.
        if (session.socket !== undefined && this.#streams(session) === 0) closeSession(session);
      });
      session.once('close', () => this.#sessions.delete(session));
    });
    this.#http2.on('sessionError', () => this.#services.metrics.malformed());
    this.#http2.on(
      'stream',
      (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
        stream.on('error', () => undefined);
        if (!acceptStream(stream)) return;
        const { session } = stream;
        const socket = session === undefined ? undefined : socketOf.get(session);
        if (session === undefined || socket === undefined) {
          stream.destroy();
          return;
        }
        this.#open.set(session, this.#streams(session) + 1);
        stream.once('close', () => this.#open.set(session, this.#streams(session) - 1));
        this.#run(
          new Exchange(new Http2Front(stream, headers, raw, socket), this.#services).run(
            this.#router,
          ),
          () => closeStreamLater(stream, constants.NGHTTP2_INTERNAL_ERROR),
        );
      },
    );
  }

  #streams(session: Http2Session): number {
    return this.#open.get(session) ?? 0;
  }

  /** Passes each connection to the parser of its protocol. */
  #chooseProtocol(): void {
    const event = this.#tls ? 'secureConnection' : 'connection';
    const [http1] = this.#server.listeners(event) as ((socket: Socket) => void)[];
    if (http1 === undefined) throw new Error('node:http has changed');
    this.#server.off(event, http1);
    const http2 = (socket: Socket): void => {
      this.#connecting = socket;
      // The session is created, and its event emitted, before this call returns.
      this.#http2.emit('connection', socket);
      this.#connecting = undefined;
    };
    this.#server.on(event, (socket: Socket) => {
      if (this.#tls)
        return (socket as TLSSocket).alpnProtocol === 'h2'
          ? http2(socket)
          : http1.call(this.#server, socket);
      this.#peek(socket, (isHttp2) => (isHttp2 ? http2(socket) : http1.call(this.#server, socket)));
    });
  }

  /** Reads the first bytes and puts them back. Disconnects a client that sends none in time. */
  #peek(socket: Socket, decided: (isHttp2: boolean) => void): void {
    const timer = this.#services.clock.setTimer(HEADERS_TIMEOUT_MS, () => socket.destroy());
    const chunks: Buffer[] = [];
    const onError = (): void => undefined;
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      const bytes = chunks.length === 1 ? chunk : Buffer.concat(chunks);
      const length = Math.min(bytes.length, PREFACE.length);
      const matches = bytes.subarray(0, length).equals(PREFACE.subarray(0, length));
      if (matches && length < PREFACE.length) return;
      timer.cancel();
      socket.off('data', onData);
      socket.off('error', onError);
      socket.pause();
      socket.unshift(bytes);
      decided(matches);
      if (!matches) socket.resume();
    };
    socket.on('error', onError);
    socket.on('data', onData);
    socket.once('close', () => timer.cancel());
  }

  #contextFor(
    serverName: string,
    callback: (err: Error | null, context?: SecureContext) => void,
  ): void {
    const certificate = this.#router.certificate(serverName.toLowerCase());
    if (certificate === undefined) return callback(new Error('no certificate for the name'));
    try {
      callback(null, this.#context(certificate));
    } catch (error) {
      callback(error as Error);
    }
  }

  #context({ id, cert, key }: Certificate): SecureContext {
    let context = this.#contexts.get(id);
    if (context === undefined) {
      context = createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
      this.#contexts.set(id, context);
    }
    return context;
  }

  /**
   * Runs an exchange. It rejects only for a bug in this program; the request is then aborted, so
   * that the client does not wait for ever.
   */
  #run(exchange: Promise<void>, giveUp: () => void): void {
    exchange.catch((error: unknown) => {
      this.#logger.error('ingress: request failed', { err: error });
      giveUp();
    });
  }
}

/** The connection of each session: session.socket is a wrapper that hides some properties. */
const socketOf = new WeakMap<Http2Session, Socket>();
