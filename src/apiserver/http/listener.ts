// One TLS port for HTTP/2 and HTTP/1.1. For HTTP/2 it uses the stream API, which is a third faster
// than the compatibility API. Both use the same handler.

import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders as Http2Headers,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { LinkedList } from '#machinery/collections/linked-list.ts';
import {
  type ConnectionLimits,
  type ConnectionState,
  ConnectionTable,
} from '#machinery/serving/index.ts';
import {
  acceptStream,
  closeSession,
  closeStreamLater,
  isClosing,
} from '#machinery/net/http2-close.ts';
import type { Random } from '#machinery/random.ts';
import type { TlsConfig } from '../config.ts';
import type { ApiRequest, Handler, PeerCertificate, RequestBody, Upgrade } from '../request.ts';
import { RequestState } from '../request-state.ts';
import { AuditIds } from './audit-ids.ts';
import { bodyOf, noBody } from './body-reader.ts';
import {
  ANSWERED,
  CLIENT_GONE,
  type ConnectionSink,
  flat,
  giveUp,
  Http1Sink,
  respondToMalformed,
  splitTarget,
} from './http1.ts';
import { Http2Sink } from './http2-sink.ts';
import { type Trust, trustIn } from './peer-certificate.ts';
import { respond } from './respond.ts';
import { defaultContext, NamedContexts, type ServingTls } from './serving-tls.ts';
import { certificateOf, closeTracked, CONNECTION, type Tracked, VERIFIED_BY } from './tracked.ts';
import { TurnGate } from './turn-gate.ts';
import { serveUpgrade, type UpgradingServer } from './upgrade.ts';

export interface ListenerConfig {
  readonly handler: Handler;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The source of audit IDs. */
  readonly random: Random;
  readonly bindAddress: string;
  /** The port to listen at; 0: any free port. */
  readonly port: number;
  /** The private key, in PEM. */
  readonly key: string;
  /** The certificate chain, in PEM. */
  readonly cert: string;
  /** See TlsConfig. */
  readonly named?: TlsConfig['named'];
  /**
   * The authority of client certificates, in PEM. Absent: clients are not asked for certificates.
   */
  readonly clientCa?: string;
  /** The authority of front proxies, in PEM. Default: there are no front proxies. */
  readonly requestHeaderCa?: string;
  /** The minimum version of TLS. Default: 'TLSv1.2'. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's names of ciphers, separated by colons. Default: those of TLS_SERVER_OPTIONS. */
  readonly ciphers?: string;
  /** See TlsConfig. */
  readonly curves?: TlsConfig['curves'];
  /**
   * The share of HTTP/2 requests after which the client opens its connection anew, so that it may
   * reach another server. Default: 0.
   */
  readonly goawayChance?: number;
  /** Timeouts and the maximum number of connections. Default: kube-apiserver's. */
  readonly limits?: Partial<ConnectionLimits>;
}

/**
 * The header limit of HTTP/1.1, as in Kubernetes: selectors and tokens may be long. Node's default
 * is 16 KiB.
 */
const MAX_HEADER_BYTES = 1024 * 1024;
/**
 * The header limit of HTTP/2, which is that of Node's implementation. It is announced, because
 * larger headers would end the connection.
 */
const MAX_HEADER_LIST_BYTES = 64 * 1024 - 1;
/**
 * The memory limit of one HTTP/2 connection, in MB. A client has all its watches and lists on one
 * connection. With Node's default of 10 MB, a few responses that the client reads slowly would
 * block its other requests, and then close the connection.
 */
const MAX_SESSION_MEMORY_MB = 256;
/**
 * The maximum number of streams per HTTP/2 connection: kube-apiserver's limit, and the value that
 * clients assume before the first SETTINGS frame.
 */
const MAX_STREAMS = 100;
/**
 * The maximum size of an unread rest of a body. If it may be longer, the connection is closed, as
 * in Go's net/http.
 */
const MAX_DISCARDED_BYTES = 256 * 1024;

export class Listener {
  readonly #config: ListenerConfig;
  readonly #auditIds: AuditIds;
  #tls: ServingTls;
  #named: NamedContexts;
  #trust: Trust;
  readonly #server: Http2SecureServer;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #connections: ConnectionTable;
  /** Requests in flight. */
  readonly #requests = new LinkedList<RequestState>();
  /** Spreads many concurrent requests over turns of the event loop. */
  readonly #gate = new TurnGate();
  /** Clients of HTTP/1.1 are asked to close their connections. */
  #draining = false;
  #stopping = false;

  constructor(config: ListenerConfig) {
    this.#config = config;
    this.#auditIds = new AuditIds(config.random);
    const { cert, key, named, clientCa, requestHeaderCa } = config;
    this.#tls = { cert, key, named, clientCa, requestHeaderCa };
    this.#named = new NamedContexts(this.#tls, config);
    this.#trust = trustIn(config);
    const { clock, logger, limits } = config;
    this.#connections = new ConnectionTable({ clock, logger, limits });
    this.#server = createSecureServer({
      ...defaultContext(this.#tls, config),
      // Called for clients that ask for a name.
      SNICallback: (name, use) => use(null, this.#named.contextFor(name)),
      // Without an authority of its own, Node would accept certificates of all public ones.
      requestCert: config.clientCa !== undefined || config.requestHeaderCa !== undefined,
      // Clients without a certificate may use a token.
      rejectUnauthorized: false,
      allowHTTP1: true,
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        initialWindowSize: 1024 * 1024,
        maxHeaderListSize: MAX_HEADER_LIST_BYTES,
      },
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
    });
    // Node reads these for each new HTTP/1.1 connection; there are no options for them. Idle
    // connections are the table's, whose limit is longer than that of Node 24 and later.
    Object.assign(this.#server, { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: 0 });
    this.#listen();
  }

  /**
   * Uses other certificates for new connections, and trusts other authorities, by which the
   * certificates of open connections are verified anew. Parts that are absent stay. An authority
   * that was not configured at first cannot be added, since clients were not asked for certificates.
   * Throws for invalid ones; the current ones then stay.
   */
  setTls(change: Partial<ServingTls>): void {
    const tls = { ...this.#tls, ...change };
    const named = new NamedContexts(tls, this.#config);
    const { clientCa, requestHeaderCa } = this.#tls;
    const isTrustKept = tls.clientCa === clientCa && tls.requestHeaderCa === requestHeaderCa;
    const trust = isTrustKept ? this.#trust : trustIn(tls);
    this.#server.setSecureContext(defaultContext(tls, this.#config));
    this.#tls = tls;
    this.#named = named;
    this.#trust = trust;
  }

  /**
   * Resolves with the port. Rejects if it is not available (in use, no permission). `shared`: the
   * listening socket of another process, of which this server gets some connections.
   */
  start(shared?: NetServer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      const listening = (): void => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) =>
          this.#config.logger.error('secure port: listener failed', { err: error }),
        );
        resolve((this.#server.address() as AddressInfo).port);
      };
      if (shared !== undefined) this.#server.listen(shared, listening);
      else this.#server.listen(this.#config.port, this.#config.bindAddress, listening);
    });
  }

  /** The listening socket, for other processes. */
  get socket(): NetServer {
    return this.#server;
  }

  /**
   * Makes clients open this share of their connections anew. Nothing in flight is disturbed: an
   * HTTP/2 client gets GOAWAY and keeps its open streams; one of HTTP/1.1 gets `Connection: close`
   * with the next response.
   */
  shed(share: number): void {
    for (const session of this.#sessions) {
      if (!isClosing(session) && this.#config.random.float() < share) closeSession(session);
    }
    for (const connection of this.#connections.open)
      if (connection.goodbye === undefined) connection.isLast = this.#config.random.float() < share;
  }

  /**
   * Serves as before, but each response over HTTP/1.1 ends its connection: a client that reuses a
   * connection at the moment when `stop` closes it would lose its request. HTTP/2 needs no notice,
   * since GOAWAY names the requests that were not served.
   */
  drain(): void {
    this.#draining = true;
  }

  /**
   * Stops accepting requests. Resolves when the requests in flight are finished and all connections
   * are closed.
   */
  async stop(): Promise<void> {
    this.#draining = true;
    this.#stopping = true;
    // Since Node 24, the server's own `close` would close sessions as well, in the way that
    // `closeSession` avoids.
    const closed = new Promise((resolve) => NetServer.prototype.close.call(this.#server, resolve));
    for (const session of this.#sessions) closeSession(session);
    this.#closeIdle();
    await closed;
    // Ends the timer of Node's checks of HTTP/1.1 connections.
    this.#server.close();
  }

  /** Aborts the requests and connections that `stop` still waits for. */
  abort(reason: unknown): void {
    for (const request of this.#requests) request.abort(reason);
    for (const session of this.#sessions) session.destroy();
    this.#connections.destroyAll();
  }

  /** The requests in flight. */
  get requests(): Iterable<ApiRequest> {
    return this.#requests;
  }

  /** The number of connections in each state. */
  get connections(): Readonly<Record<ConnectionState, number>> {
    return this.#connections.states;
  }

  #listen(): void {
    const server = this.#server;
    server.on('connection', (socket: Socket) => this.#connections.accepted(socket));
    // This runs before Node's own listener, which creates the HTTP/2 session.
    server.prependListener('secureConnection', (socket: TLSSocket) => {
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 15_000);
      (socket as Tracked)[CONNECTION] = this.#connections.secured(socket);
      (socket as Tracked)[VERIFIED_BY] = this.#trust;
    });
    server.on('session', (session) => {
      this.#sessions.add(session);
      const connection = (session.socket as Tracked)[CONNECTION];
      (session as Tracked)[VERIFIED_BY] = (session.socket as Tracked)[VERIFIED_BY];
      if (connection !== undefined) {
        (session as Tracked)[CONNECTION] = connection;
        connection.goodbye = () => closeSession(session);
      }
      session.once('close', () => this.#sessions.delete(session));
      session.on('error', (error) =>
        this.#config.logger.debug('HTTP/2 session failed', { err: error }),
      );
    });
    server.on('sessionError', (error) =>
      this.#config.logger.debug('HTTP/2 session failed', { err: error }),
    );
    server.on('tlsClientError', (error, socket) => {
      this.#config.logger.debug('TLS handshake failed', { err: error });
      socket.destroy();
    });
    server.on('request', (message, response) => {
      this.#http1(message as unknown as IncomingMessage, response as unknown as ServerResponse);
    });
    // Listening for requests also makes Node create compatibility requests from HTTP/2's streams,
    // which are not needed here.
    server.removeAllListeners('stream');
    server.on(
      'stream',
      (
        stream: ServerHttp2Stream,
        headers: Http2Headers,
        _flags: number,
        rawHeaders: readonly string[],
      ) => this.#http2(stream, headers, rawHeaders),
    );
    server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(message, socket, head),
    );
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
      respondToMalformed(error, socket, () => closeTracked(socket)),
    );
    server.on('unknownProtocol', (socket) => socket.destroy());
    server.setTimeout(0);
  }

  #http2(stream: ServerHttp2Stream, headers: Http2Headers, rawHeaders: readonly string[]): void {
    if (!acceptStream(stream)) return;
    const { path, query } = splitTarget(headers[':path'] ?? '');
    const { session } = stream;
    const connection = (session as Tracked | undefined)?.[CONNECTION];
    connection?.begin();
    const { goawayChance = 0, random } = this.#config;
    if (goawayChance > 0 && session !== undefined && random.float() < goawayChance)
      closeSession(session);
    const hasBody = !stream.readableEnded && !stream.endAfterHeaders;
    const request = new RequestState({
      method: headers[':method'] ?? '',
      path,
      query,
      headers: headers as Readonly<Record<string, string | undefined>>,
      rawHeaders,
      body: hasBody ? bodyOf(stream, headers['content-length']) : noBody,
      auditIds: this.#auditIds,
      remoteAddress: session?.socket?.remoteAddress ?? '',
      peerCertificate:
        session === undefined
          ? undefined
          : this.#certificateOf(session as Tracked, session.socket as TLSSocket),
    });
    stream.on('error', (error) => request.abort(error));
    stream.on('close', () => {
      request.abort(CLIENT_GONE);
      connection?.end();
    });
    this.#begin(request, new Http2Sink(stream), (code) => {
      // As upstream since CVE-2023-44487: an unauthenticated client gets one request for each
      // connection.
      const isUnknown = code === 401 || isAnonymous(request.user);
      if (isUnknown && !request.keepsConnection && session !== undefined) closeSession(session);
      // Otherwise the stream would stay open until the client ends the body.
      if (hasBody && !stream.readableEnded) whenSent(stream, () => closeStreamLater(stream));
    });
  }

  #http1(message: IncomingMessage, response: ServerResponse): void {
    const { headers } = message;
    const length = headers['content-length'];
    const hasBody = length !== undefined || headers['transfer-encoding'] !== undefined;
    const request = this.#http1Request(
      message,
      hasBody ? bodyOf(message, length) : noBody,
      undefined,
    );
    response.on('close', () => request.abort(CLIENT_GONE));
    response.on('error', (error) => request.abort(error));
    const { socket } = message;
    const connection = (socket as Tracked)[CONNECTION];
    if (this.#draining || connection?.isLast === true) response.setHeader('connection', 'close');
    connection?.begin();
    const sink = new Http1Sink(response, () => {
      // Destroying the socket with unread bytes would reset the connection, and the client might
      // not see the response.
      if (connection !== undefined) socket.destroySoon = () => connection.close();
    });
    this.#begin(request, sink, () => {
      connection?.end();
      // Node reads and drops the rest of a body. If its length is unknown, nothing limits it.
      const isShort = Number(length ?? Infinity) <= MAX_DISCARDED_BYTES;
      if (hasBody && !isShort && !message.complete) connection?.close();
    });
  }

  #certificateOf(connection: Tracked, socket: TLSSocket): PeerCertificate | undefined {
    return certificateOf(connection, socket, this.#trust, this.#config.clock.now());
  }

  #http1Request(
    message: IncomingMessage,
    body: RequestBody,
    upgrade: Upgrade | undefined,
  ): RequestState {
    const { path, query } = splitTarget(message.url ?? '');
    const socket = message.socket as TLSSocket;
    return new RequestState({
      method: message.method ?? '',
      path,
      query,
      headers: flat(message.headers),
      rawHeaders: message.rawHeaders,
      body,
      auditIds: this.#auditIds,
      remoteAddress: socket.remoteAddress ?? '',
      peerCertificate: this.#certificateOf(socket as Tracked, socket),
      upgrade,
    });
  }

  #upgrade(message: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Since Node 26, `socket` is a wrapper while a body of the request is not read.
    const connection = (message.socket as unknown as Tracked)[CONNECTION];
    connection?.begin();
    const server: UpgradingServer = {
      ...this.#config,
      begin: (upgrade) => {
        const request = this.#http1Request(message, noBody, upgrade);
        this.#requests.add(request);
        return request;
      },
      close: () => closeTracked(socket),
      finished: (request) => this.#requests.delete(request),
    };
    void serveUpgrade(server, message, socket, head);
  }

  /** Serves the request in this turn of the event loop or in one of the next. */
  #begin(request: RequestState, sink: ConnectionSink, answered: (code: number) => void): void {
    this.#requests.add(request);
    this.#gate.begin(() => void this.#serve(request, sink, answered));
  }

  /**
   * Serves the request. `answered`: always called, when the response has been handed to the
   * connection. Code 0: there is none.
   */
  async #serve(
    request: RequestState,
    sink: ConnectionSink,
    answered: (code: number) => void,
  ): Promise<void> {
    let code = 0;
    try {
      // The client may have disconnected while the request waited for its turn.
      if (!sink.open) return;
      const response = await this.#config.handler(request);
      code = response.code;
      if (!sink.open) {
        if (response.body.kind === 'watch') response.body.events.stop();
        return;
      }
      const responding = respond(request, response, sink);
      if (responding !== undefined) await responding;
    } catch (error) {
      this.#config.logger.error('sending a response failed', {
        method: request.method,
        path: request.path,
        err: error,
      });
      giveUp(request, sink);
    } finally {
      // Work that was started for the request ends now.
      request.abort(ANSWERED);
      answered(code);
      this.#requests.delete(request);
      if (this.#stopping) this.#closeIdle();
    }
  }

  #closeIdle(): void {
    this.#connections.closeIdle();
  }
}

function isAnonymous(user: ApiRequest['user']): boolean {
  return user === undefined || user.groups.includes('system:unauthenticated');
}

/** Calls `action` when everything written has been handed to the connection. */
function whenSent(stream: Duplex, action: () => void): void {
  if (stream.writableFinished) action();
  else stream.once('finish', action);
}
