// The transport to a remote API server: HTTP/2 if the server supports it, otherwise HTTP/1.1.
// Not supported: proxies (those of the environment included).

import { stringifyJson } from '#machinery/text/json-integers.ts';
import { errorMessage } from '#machinery/error-message.ts';
import tls from 'node:tls';
import type { IncomingHttpHeaders } from 'node:http';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { watchErrors } from '#machinery/net/peer/index.ts';
import { peerNamed } from '#machinery/net/tls-identity.ts';
import type { WatchStream } from '#machinery/watch.ts';
import { LinkedAbort, abortable } from '../abort.ts';
import type { Credentials, CredentialSource } from '../credentials/credential-source.ts';
import { queryParameters } from '../request.ts';
import type { Transport, TransportRequest, WatchEvent } from '../transport.ts';
import { NotProcessedError, type Exchange, type ExchangeResponse } from './exchange.ts';
import { Http1Exchange } from './http1-exchange.ts';
import { Http2Exchange } from './http2-exchange.ts';

/** A server, and the credentials for it: the content of a kubeconfig's context. */
export interface ServerAccess {
  /** 'https://host:6443', optionally with a path before that of the API. */
  readonly server: string;
  /** PEM. Default: the certificate authorities that the platform trusts. */
  readonly ca?: string;
  /** Accepts any certificate, so the server is not authenticated. Default: false. */
  readonly insecureSkipTlsVerify?: boolean;
  /** The name in the server's certificate, if it differs from the host in `server`. */
  readonly tlsServerName?: string;
  /** PEM. Set both or neither. */
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  /**
   * A bearer token, or a function that returns it. The function is called before every request, so
   * that a renewed token is used.
   */
  readonly token?: string | (() => string | Promise<string>);
  /**
   * Credentials that change, such as those from a program. They replace the token and the client
   * certificate above.
   */
  readonly credentials?: CredentialSource;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly impersonate?: {
    readonly user: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
}

export interface HttpTransportConfig extends ServerAccess {
  readonly clock: Clock;
  readonly userAgent?: string;
  /** Called with every warning that the server adds to a response. */
  readonly onWarning?: (message: string) => void;
  /** Default: 30 s. */
  readonly connectTimeoutMs?: number;
}

export function createHttpTransport(config: HttpTransportConfig): Transport {
  return new HttpTransport(config);
}

/**
 * Returns the options of node:tls for the server, for connections that this transport does not open
 * (WebSockets).
 */
export function tlsOptions(access: ServerAccess): ConnectionOptions {
  const { hostname, port } = new URL(access.server);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 443 : Number(port),
    ca: access.ca,
    // As in Go, every certificate among the authorities is trusted: also an intermediate one, or
    // the server's own.
    allowPartialTrustChain: access.ca !== undefined,
    cert: access.clientCertificate,
    key: access.clientKey,
    rejectUnauthorized: !access.insecureSkipTlsVerify,
    ...(access.tlsServerName !== undefined && peerNamed(access.tlsServerName)),
  };
}

/** Returns the headers that authenticate a request. */
export async function authenticationHeaders(
  access: ServerAccess,
  credentials?: Credentials,
): Promise<Record<string, string | readonly string[]>> {
  const headers: Record<string, string | readonly string[]> = {};
  const { token = typeof access.token === 'function' ? await access.token() : access.token } =
    credentials ?? (await access.credentials?.current()) ?? {};
  if (token) headers['authorization'] = `Bearer ${token}`;
  else if (access.basic !== undefined) {
    const { username, password } = access.basic;
    headers['authorization'] = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }
  if (access.impersonate !== undefined) {
    const { user, uid, groups, extra } = access.impersonate;
    headers['impersonate-user'] = user;
    if (uid !== undefined) headers['impersonate-uid'] = uid;
    if (groups !== undefined && groups.length > 0) headers['impersonate-group'] = groups;
    for (const [key, values] of Object.entries(extra ?? {})) {
      headers[`impersonate-extra-${encodeURIComponent(key).toLowerCase()}`] = values;
    }
  }
  return headers;
}

class HttpTransport implements Transport {
  readonly #config: HttpTransportConfig;
  readonly #origin: URL;
  /** The path of the server, without a slash at its end. */
  readonly #basePath: string;
  #exchange: Promise<Exchange> | undefined;
  /** The client certificate of the connections of #exchange. */
  #presented: string | undefined;
  readonly #closed = new AbortController();

  constructor(config: HttpTransportConfig) {
    this.#config = config;
    this.#origin = new URL(config.server);
    this.#basePath = this.#origin.pathname.replace(/\/+$/, '');
    if (this.#origin.protocol !== 'https:' && this.#origin.protocol !== 'http:') {
      throw new Error(`the server address must begin with https:// or http://: ${config.server}`);
    }
  }

  async request<T>(request: TransportRequest): Promise<T> {
    const { status, text } = await this.#readWhole(request, 'application/json');
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw unexpectedResponse(request, status, text, error);
    }
  }

  async watch<T>(request: TransportRequest): Promise<WatchStream<WatchEvent<T>>> {
    const call = new LinkedAbort(this.#closed.signal, request.signal);
    const query = { ...request.query, watch: true };
    const response = await this.#ask({ ...request, query }, 'application/json', call);
    const stop = (): void => {
      call.abort();
      response.cancel();
    };
    const unreachable = (err: unknown): Error => this.#unreachable(request, err);
    return {
      stop,
      async *[Symbol.asyncIterator]() {
        try {
          for await (const line of splitLines(response.body)) {
            if (call.signal.aborted) return;
            yield JSON.parse(line) as WatchEvent<T>;
          }
        } catch (error) {
          // A watch that its caller has stopped does not fail.
          if (!call.signal.aborted) throw unreachable(error);
        } finally {
          stop();
        }
      },
    };
  }

  async text(request: TransportRequest): Promise<string> {
    return (await this.#readWhole(request, '*/*')).text;
  }

  async stream(request: TransportRequest): Promise<AsyncIterable<Uint8Array>> {
    const call = new LinkedAbort(this.#closed.signal, request.signal);
    const response = await this.#ask(request, '*/*', call);
    const unreachable = (err: unknown): Error => this.#unreachable(request, err);
    return {
      async *[Symbol.asyncIterator]() {
        try {
          yield* response.body;
        } catch (error) {
          if (!call.signal.aborted) throw unreachable(error);
        } finally {
          call.release();
          response.cancel();
        }
      },
    };
  }

  close(): void {
    this.#closed.abort(apierrors.serviceUnavailable('the client is closed'));
    this.#exchange?.then(
      (exchange) => exchange.close(),
      () => undefined,
    );
  }

  async #readWhole(
    request: TransportRequest,
    accept: string,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const call = new LinkedAbort(this.#closed.signal, request.signal);
    try {
      const response = await this.#ask(request, accept, call);
      return { status: response.status, text: await this.#readAll(request, response, call.signal) };
    } finally {
      call.release();
    }
  }

  /**
   * Returns a successful response, whose body is part of the call. Throws for any other, and ends
   * the call.
   */
  async #ask(
    request: TransportRequest,
    accept: string,
    call: LinkedAbort,
  ): Promise<ExchangeResponse> {
    const { signal } = call;
    try {
      signal.throwIfAborted();
      const response = await this.#send(request, accept, signal);
      for (const warning of warningsOf(response.headers)) this.#config.onWarning?.(warning);
      if (response.status >= 200 && response.status < 300) return response;
      throw await this.#failureOf(request, response, signal);
    } catch (error) {
      call.release();
      if (signal.aborted) throw signal.reason;
      throw this.#unreachable(request, error);
    }
  }

  /** Sends the request. Sends it again if the server rejects credentials of a source. */
  async #send(
    request: TransportRequest,
    accept: string,
    signal: AbortSignal,
  ): Promise<ExchangeResponse> {
    const source = this.#config.credentials;
    const credentials = await source?.current();
    const response = await this.#sendOnce(request, accept, credentials, signal);
    if (source === undefined || credentials === undefined || response.status !== 401)
      return response;
    source.invalidate(credentials);
    const renewed = await source.current();
    if (sameCredentials(renewed, credentials)) return response;
    response.cancel();
    return this.#sendOnce(request, accept, renewed, signal);
  }

  async #sendOnce(
    request: TransportRequest,
    accept: string,
    credentials: Credentials | undefined,
    signal: AbortSignal,
  ): Promise<ExchangeResponse> {
    const query = queryParameters(request.query).toString();
    const exchangeRequest = {
      method: request.method,
      path: `${this.#basePath}${request.path}${query === '' ? '' : `?${query}`}`,
      headers: {
        accept: request.accept ?? accept,
        'user-agent': this.#config.userAgent ?? 'coxswain',
        ...(request.body !== undefined && {
          'content-type': request.contentType ?? 'application/json',
        }),
        ...(await authenticationHeaders(this.#config, credentials)),
      },
      body: request.body === undefined ? undefined : Buffer.from(stringifyJson(request.body)),
      signal,
    };
    const exchange = await this.#connect(credentials, signal);
    try {
      return await exchange.exchange(exchangeRequest);
    } catch (error) {
      // The server closed the connection without processing the request, so it is sent again.
      if (error instanceof NotProcessedError) return exchange.exchange(exchangeRequest);
      throw error;
    }
  }

  /**
   * Connects, and determines the server's version of HTTP at the first request. Another client
   * certificate closes the connections and opens new ones.
   */
  async #connect(credentials: Credentials | undefined, signal: AbortSignal): Promise<Exchange> {
    if (credentials?.clientCertificate !== this.#presented) {
      this.#presented = credentials?.clientCertificate;
      this.#exchange?.then(
        (exchange) => exchange.close(),
        () => undefined,
      );
      this.#exchange = undefined;
    }
    this.#exchange ??= this.#negotiate(credentials, this.#closed.signal).catch((error: unknown) => {
      this.#exchange = undefined;
      throw error;
    });
    return abortable(this.#exchange, signal);
  }

  async #negotiate(credentials: Credentials | undefined, signal: AbortSignal): Promise<Exchange> {
    if (this.#origin.protocol === 'http:') return new Http1Exchange(this.#origin, undefined);
    const { clientCertificate, clientKey } = credentials ?? {};
    const options = tlsOptions({
      ...this.#config,
      ...(clientCertificate !== undefined && { clientCertificate, clientKey }),
    });
    let socket: TLSSocket | undefined = await this.#dial(options, signal);
    if (socket.alpnProtocol !== 'h2') {
      socket.destroy();
      return new Http1Exchange(this.#origin, options);
    }
    const connect = async (closed: AbortSignal): Promise<TLSSocket> => {
      // The connection that determined the version is used first.
      const tlsSocket = socket ?? (await this.#dial(options, closed));
      socket = undefined;
      return tlsSocket;
    };
    return new Http2Exchange({ origin: this.#origin, connect, clock: this.#config.clock });
  }

  #dial(options: ConnectionOptions, signal: AbortSignal): Promise<TLSSocket> {
    const { clock, connectTimeoutMs = 30_000 } = this.#config;
    return new Promise((resolve, reject) => {
      // A reset may come between the dial and the session, so the socket has a listener all the
      // time.
      const socket = watchErrors(tls.connect({ ...options, ALPNProtocols: ['h2', 'http/1.1'] }));
      const settle = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', onAbort);
        socket.removeListener('error', onError);
      };
      const onError = (err: unknown): void => {
        settle();
        socket.destroy();
        reject(err);
      };
      const onAbort = (): void => onError(signal.reason);
      const timer = clock.setTimer(connectTimeoutMs, () =>
        onError(new Error(`no connection within ${connectTimeoutMs} ms`)),
      );
      socket.once('error', onError);
      signal.addEventListener('abort', onAbort, { once: true });
      socket.once('secureConnect', () => {
        settle();
        socket.setNoDelay(true);
        resolve(socket);
      });
    });
  }

  async #readAll(
    request: TransportRequest,
    response: ExchangeResponse,
    signal: AbortSignal,
  ): Promise<string> {
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of response.body) chunks.push(chunk);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw this.#unreachable(request, error);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async #failureOf(
    request: TransportRequest,
    response: ExchangeResponse,
    signal: AbortSignal,
  ): Promise<apierrors.StatusError> {
    const text = await this.#readAll(request, response, signal);
    try {
      const status = apierrors.receivedStatus(JSON.parse(text), response.status);
      if (status !== undefined) return apierrors.fromStatus(status);
    } catch {
      // The body is not JSON, so it is not from the API server.
    }
    const retryAfter = Number(response.headers['retry-after']);
    return apierrors.genericServerResponse({
      code: response.status,
      verb: request.method,
      serverMessage: text.trim().slice(0, 2048) || 'unknown',
      isUnexpectedResponse: true,
      ...(Number.isFinite(retryAfter) && { retryAfterSeconds: retryAfter }),
    });
  }

  #unreachable(request: TransportRequest, err: unknown): Error {
    if (err instanceof apierrors.StatusError) return err;
    const why = errorMessage(err);
    const message = `${request.method} ${this.#origin.origin}${request.path}: ${why}`;
    return apierrors.fromStatus(apierrors.serviceUnavailable(message).status, { cause: err });
  }
}

function sameCredentials(a: Credentials, b: Credentials): boolean {
  return a.token === b.token && a.clientCertificate === b.clientCertificate;
}

function unexpectedResponse(
  request: TransportRequest,
  code: number,
  text: string,
  cause: unknown,
): apierrors.StatusError {
  const { status } = apierrors.genericServerResponse({
    code: 500,
    verb: request.method,
    serverMessage: `status ${code} with a body that is no JSON: ${text.slice(0, 200)}`,
    isUnexpectedResponse: true,
  });
  return apierrors.fromStatus(status, { cause });
}

async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  let rest: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      rest.push(chunk.subarray(start, end));
      const line = Buffer.concat(rest).toString('utf8');
      rest = [];
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (start < chunk.byteLength) rest.push(chunk.subarray(start));
  }
  // A partial event is the end of a broken connection.
  const last = Buffer.concat(rest).toString('utf8').trim();
  if (last !== '') yield last;
}

/** Returns the texts of Warning headers: '299 - "text"', several joined by commas. */
function warningsOf(headers: IncomingHttpHeaders): string[] {
  const value = headers['warning'];
  if (value === undefined) return [];
  const texts: string[] = [];
  for (const match of value.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)) {
    texts.push((match[1] ?? '').replace(/\\(.)/g, '$1'));
  }
  return texts;
}
