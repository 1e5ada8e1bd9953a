// One TLS port that speaks HTTP/2 and HTTP/1.1. HTTP/2 uses the stream API, a third faster than the compatible one; what comes by
// either is handed on alike.

import { createSecureServer } from 'node:http2';
import type { Http2SecureServer, IncomingHttpHeaders as Http2Headers, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { DEFAULT_CIPHERS } from 'node:tls';
import type { TLSSocket } from 'node:tls';

import type { Logger } from '../../machinery/log.ts';
import type { PeerCertificate } from '../request.ts';
import type { RequestFields } from '../request-state.ts';
import { bodyOf, noBody } from './body-reader.ts';
import { peerCertificateOf } from './peer-certificate.ts';
import { CLIENT_GONE } from './request-acceptor.ts';
import type { RequestAcceptor } from './request-acceptor.ts';
import { Http1Sink, Http2Sink } from './sink.ts';

/** Where it listens, and as whom. */
export interface ListenerAddress {
  readonly bindAddress: string;
  /** 0: any that is free. */
  readonly port: number;
  /** PEM. */
  readonly key: string;
  /** PEM, the chain. */
  readonly cert: string;
  /** PEM: certificates of clients are believed if it has signed them. */
  readonly clientCa: string;
}

export interface ListenerConfig extends ListenerAddress {
  /** Who answers what comes. */
  readonly acceptor: RequestAcceptor;
  readonly logger: Logger;
}

/** AES with 128 bits first, as good as the longer one and a quarter faster; then what Node offers by itself. */
const CIPHERS = ['TLS_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256', DEFAULT_CIPHERS].join(':');

/** Of HTTP/1.1. Selectors and tokens may be long; Node would take 16 KiB, Kubernetes takes this. */
const MAX_HEADER_BYTES = 1024 * 1024;
/** Of HTTP/2: what its implementation can do. Clients that are told do not try more, which would cost them the connection. */
const MAX_HEADER_LIST_BYTES = 64 * 1024 - 1;
/**
 * What one connection may have under way, in MB. A client has all its watches and lists on one; with Node's 10 MB, a few answers
 * that it is slow to read would have its other requests refused, and then its connection closed.
 */
const MAX_SESSION_MEMORY_MB = 256;

export class Listener {
  readonly #config: ListenerConfig;
  readonly #server: Http2SecureServer;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #sockets = new Set<TLSSocket>();
  readonly #certificates = new WeakMap<object, PeerCertificate | null>();
  #stopping = false;

  constructor(config: ListenerConfig) {
    this.#config = config;
    this.#server = createSecureServer({
      key: config.key,
      cert: config.cert,
      ca: config.clientCa,
      requestCert: true,
      // Clients without a certificate may have a token.
      rejectUnauthorized: false,
      allowHTTP1: true,
      minVersion: 'TLSv1.2',
      ciphers: CIPHERS,
      honorCipherOrder: true,
      settings: { maxConcurrentStreams: 1000, initialWindowSize: 1024 * 1024, maxHeaderListSize: MAX_HEADER_LIST_BYTES },
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
    });
    // Read for each new HTTP/1.1 connection; there is no option for it.
    (this.#server as unknown as { maxHeaderSize: number }).maxHeaderSize = MAX_HEADER_BYTES;
    this.#listen();
  }

  /** Resolves with the port. Rejects if it cannot be had (in use, no permission). */
  start(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#config.port, this.#config.bindAddress, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => this.#config.logger.error('the secure port failed', { err: error }));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Takes no new connections; resolves when the requests under way have been answered and all connections are closed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.close();
    this.#closeIdle();
    await closed;
  }

  /** Ends what `stop` still waits for. */
  abort(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #listen(): void {
    const server = this.#server;
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 15_000);
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
      session.on('error', (error) => this.#config.logger.debug('an HTTP/2 session failed', { err: error }));
    });
    server.on('sessionError', (error) => this.#config.logger.debug('an HTTP/2 session failed', { err: error }));
    server.on('tlsClientError', (error) => this.#config.logger.debug('a TLS handshake failed', { err: error }));
    server.on('request', (message, response) => {
      this.#http1(message as unknown as IncomingMessage, response as unknown as ServerResponse);
    });
    // Listening for requests also makes Node build compatible requests of HTTP/2's streams, which nobody needs here.
    server.removeAllListeners('stream');
    server.on('stream', (stream, headers) => this.#http2(stream, headers));
    server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => this.#upgrade(message, socket, head));
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => this.#malformed(error, socket));
    server.on('unknownProtocol', (socket) => socket.destroy());
    server.setTimeout(0);
  }

  #http2(stream: ServerHttp2Stream, headers: Http2Headers): void {
    const { path, query } = splitTarget(headers[':path'] ?? '');
    const { session } = stream;
    const fields: RequestFields = {
      method: headers[':method'] ?? '',
      path,
      query,
      headers: headers as Readonly<Record<string, string | undefined>>,
      body: stream.readableEnded || stream.endAfterHeaders ? noBody : bodyOf(stream, headers['content-length']),
      remoteAddress: session?.socket?.remoteAddress ?? '',
      peerCertificate: session === undefined ? undefined : this.#certificateOf(session, session.socket as TLSSocket),
    };
    const request = this.#config.acceptor.begin(fields, new Http2Sink(stream));
    stream.on('error', (error) => request.abort(error));
    stream.on('close', () => request.abort(CLIENT_GONE));
  }

  #http1(message: IncomingMessage, response: ServerResponse): void {
    if (this.#stopping) response.setHeader('connection', 'close');
    message.on('error', () => undefined);
    const request = this.#config.acceptor.begin(this.#http1Fields(message, true), new Http1Sink(response));
    response.on('error', (error) => request.abort(error));
    response.on('close', () => {
      request.abort(CLIENT_GONE);
      if (this.#stopping) this.#closeIdle();
    });
  }

  #http1Fields(message: IncomingMessage, readsBody: boolean): RequestFields {
    const { path, query } = splitTarget(message.url ?? '');
    const hasBody = message.headers['content-length'] !== undefined || message.headers['transfer-encoding'] !== undefined;
    const socket = message.socket as TLSSocket;
    return {
      method: message.method ?? '',
      path,
      query,
      headers: flat(message.headers),
      body: hasBody && readsBody ? bodyOf(message, message.headers['content-length']) : noBody,
      remoteAddress: socket.remoteAddress ?? '',
      peerCertificate: this.#certificateOf(socket, socket),
    };
  }

  #upgrade(message: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#config.acceptor.upgrade(this.#http1Fields(message, false), { message, socket, head });
  }

  #certificateOf(key: object, socket: TLSSocket): PeerCertificate | undefined {
    let certificate = this.#certificates.get(key);
    if (certificate === undefined) {
      certificate = peerCertificateOf(socket) ?? null;
      this.#certificates.set(key, certificate);
    }
    return certificate ?? undefined;
  }

  #closeIdle(): void {
    // HTTP/1.1 connections that are kept alive for a next request, which will not come.
    (this.#server as unknown as { closeIdleConnections?: () => void }).closeIdleConnections?.();
  }

  /** What is no HTTP is told so, and its connection closed. */
  #malformed(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const [code, reason] =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? [431, 'Request Header Fields Too Large']
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? [408, 'Request Timeout']
          : [400, 'Bad Request'];
    socket.end(`HTTP/1.1 ${code} ${reason}\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n${code} ${reason}`);
  }
}

/** Path and query of a request target, which is '/path?query' or (through a proxy) a whole URL. */
function splitTarget(target: string): { readonly path: string; readonly query: string } {
  let rest = target;
  if (!rest.startsWith('/')) {
    const authority = rest.indexOf('://');
    const slash = authority < 0 ? -1 : rest.indexOf('/', authority + 3);
    rest = slash < 0 ? '/' : rest.slice(slash);
  }
  const question = rest.indexOf('?');
  return question < 0 ? { path: rest, query: '' } : { path: rest.slice(0, question), query: rest.slice(question + 1) };
}

function flat(headers: IncomingHttpHeaders): Readonly<Record<string, string | undefined>> {
  // Only set-cookie can be a list, which no request has.
  return headers as Readonly<Record<string, string | undefined>>;
}
