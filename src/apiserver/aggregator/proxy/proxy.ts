// Forwards a request to the API server behind an APIService, and its response back. The request has
// been authenticated and authorized; headers name the user to the other server. Bodies are streamed
// with back-pressure in both directions.

import type { IncomingMessage } from 'node:http';

import { type Answer, BodyAbortedError } from '#machinery/net/peer/index.ts';
import type { Clock } from '#machinery/clock.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { isHopByHop } from '#machinery/net/hop-by-hop.ts';
import type { Logger } from '#machinery/log.ts';
import { bodyOf, joinUpgraded } from '../../node-proxy/relay.ts';
import type { ApiRequest, ApiResponse } from '../../request.ts';
import { notFound } from '../../status-routes.ts';
import { isAvailable, type RemoteApiService } from '../api-services.ts';
import {
  type Backend,
  BackendError,
  type Backends,
  NoEndpointError,
  TransportError,
} from './backend.ts';
import { forwardedHeaders, outgoingHeaders } from './headers.ts';
import { decodedResponse } from './in-process.ts';
import { decodePath, encodePath, encodeQuery } from './target-path.ts';

/**
 * The timeout of discovery requests, in ms. It is short, so that one slow server does not slow down
 * every client.
 */
const DISCOVERY_TIMEOUT_MS = 5_000;
const UPGRADE_TIMEOUT_MS = 30_000;
const CORS = /^access-control-allow-(credentials|headers|methods|origin)$/;
const NOSNIFF = { 'x-content-type-options': 'nosniff' };
const TEXT = 'text/plain; charset=utf-8';
const REDIRECTED = 'the backend attempted to redirect this request, which is not permitted';

export interface ProxyConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly backends: Backends;
  /** A redirect of a backend becomes a response 502. Default: true. */
  readonly rejectRedirects?: boolean;
  /**
   * Names and prefixes of headers, in lower case, in which front proxies name users to this server.
   */
  readonly identityHeaders?: readonly string[];
  readonly identityPrefixes?: readonly string[];
  /** Called for each request to which this server itself responds with an error. */
  readonly onTermination?: (request: ApiRequest, code: number) => void;
}

export class AggregationProxy {
  readonly #config: ProxyConfig;

  constructor(config: ProxyConfig) {
    this.#config = config;
  }

  /**
   * Returns the backend's response, or an error as plain text. `anyAvailability`: forwards even if
   * the APIService is not available.
   */
  async forward(
    request: ApiRequest,
    service: RemoteApiService,
    anyAvailability = false,
  ): Promise<ApiResponse> {
    const path = decodePath(request.path);
    if (path === undefined) return notFound();
    if (!anyAvailability && !isAvailable(service))
      return this.#unavailable(request, service, 'not available');
    let backend: Backend;
    try {
      backend = await this.#config.backends.choose(service);
    } catch (error) {
      if (error instanceof TransportError) return this.#failed(request, 500, error.message);
      if (error instanceof NoEndpointError)
        return this.#unavailable(request, service, error.message);
      throw error;
    }
    const query = encodeQuery(request.query);
    const target = encodePath(path);
    const response =
      request.upgrade === undefined
        ? await this.#forward(request, backend, target, query)
        : await this.#upgrade(request, backend, target, query);
    return request.rawHeaders === undefined ? decodedResponse(request, response) : response;
  }

  #unavailable(
    request: ApiRequest,
    { metadata: { name } }: RemoteApiService,
    reason: string,
  ): ApiResponse {
    this.#config.logger.debug('aggregator: request for an unavailable APIService', {
      apiService: name,
      path: request.path,
      reason,
    });
    return this.#failed(request, 503, 'service unavailable');
  }

  #failed(request: ApiRequest, code: number, message: string): ApiResponse {
    this.#config.onTermination?.(request, code);
    return plainText(code, `${message}\n`);
  }

  async #forward(
    request: ApiRequest,
    backend: Backend,
    path: string,
    query: string,
  ): Promise<ApiResponse> {
    const { method, signal } = request;
    const body = await bodyOf(request);
    const length =
      body instanceof Uint8Array ? String(body.length) : request.headers['content-length'];
    const withBody =
      body === undefined
        ? {}
        : length === undefined
          ? { 'transfer-encoding': 'chunked' }
          : { 'content-length': length };
    try {
      const response = await backend.send({
        method,
        path: withQuery(path, query),
        headers: {
          ...this.#headers(request, backend),
          ...forwardedHeaders(backend.host, path),
          ...withBody,
        },
        body,
        signal,
        ...(isDiscovery(request) && { headTimeoutMs: DISCOVERY_TIMEOUT_MS }),
      });
      return this.#responseOf(response.message);
    } catch (error) {
      return this.#unreachable(request, error, 'error trying to reach service: ');
    }
  }

  async #upgrade(
    request: ApiRequest,
    backend: Backend,
    path: string,
    query: string,
  ): Promise<ApiResponse> {
    const { method, signal, upgrade } = request;
    let upgradeResponse: Answer;
    try {
      upgradeResponse = await backend.send({
        method,
        path: withQuery(path, query),
        headers: {
          ...this.#headers(request, backend),
          connection: 'Upgrade',
          upgrade: request.headers['upgrade'] ?? '',
        },
        signal,
        headTimeoutMs: UPGRADE_TIMEOUT_MS,
        upgrade: true,
      });
    } catch (error) {
      return this.#unreachable(request, error, 'error dialing backend: ');
    }
    const { clock } = this.#config;
    if (upgradeResponse.kind === 'upgraded' && upgrade !== undefined) {
      return {
        code: 101,
        body: { kind: 'taken', done: joinUpgraded(clock, upgrade, upgradeResponse) },
      };
    }
    const code = upgradeResponse.message.statusCode ?? 502;
    // The backend rejects the upgrade, and its response has the reason.
    if (code >= 400) return this.#responseOf(upgradeResponse.message);
    upgradeResponse.message.destroy();
    return this.#failed(request, 503, `invalid upgrade response: status code ${code}`);
  }

  #headers(request: ApiRequest, backend: Backend): ReturnType<typeof outgoingHeaders> {
    const { identityHeaders, identityPrefixes } = this.#config;
    return outgoingHeaders(request, {
      user: request.user!,
      host: backend.host,
      identityHeaders,
      identityPrefixes,
    });
  }

  #unreachable(request: ApiRequest, error: unknown, prefix: string): ApiResponse {
    if (error instanceof BodyAbortedError) throw apierrors.badRequest(error.message);
    if (error instanceof BackendError) {
      const message = error.message.startsWith('timeout: no response')
        ? 'context deadline exceeded'
        : error.message;
      return this.#failed(request, 503, prefix + message);
    }
    if (error instanceof apierrors.StatusError) throw error;
    // The client has disconnected, so it does not get this response.
    if (request.signal.aborted) return this.#failed(request, 503, `${prefix}context canceled`);
    throw error;
  }

  #responseOf(message: IncomingMessage): ApiResponse {
    const code = message.statusCode ?? 502;
    const { location } = message.headers;
    if (
      code >= 300 &&
      code <= 399 &&
      location !== undefined &&
      this.#config.rejectRedirects !== false
    ) {
      message.destroy();
      return { code: 502, body: { kind: 'text', contentType: TEXT, text: REDIRECTED } };
    }
    const headers: Record<string, string | readonly string[]> = {};
    for (const [name, value] of Object.entries(message.headers)) {
      if (value === undefined || isHopByHop(name) || CORS.test(name)) continue;
      if (name === 'content-length' || name === 'content-type') continue;
      headers[name] = value;
    }
    const contentType = code === 304 ? '' : (message.headers['content-type'] ?? '');
    const announced = message.headers['content-length'];
    const length =
      announced === undefined || !/^\d+$/.test(announced) ? undefined : Number(announced);
    return { code, headers, body: { kind: 'stream', contentType, stream: message, length } };
  }
}

/** Reports whether the path is /apis/GROUP/VERSION itself. */
function isDiscovery({ info }: ApiRequest): boolean {
  return !info.isResourceRequest && info.path.split('/').filter((part) => part !== '').length === 3;
}

function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}?${query}`;
}

/** Returns an error as plain text, like Go's http.Error. */
function plainText(code: number, text: string): ApiResponse {
  return { code, headers: NOSNIFF, body: { kind: 'text', contentType: TEXT, text } };
}
