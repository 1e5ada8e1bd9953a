// One request, from its head to the end of its response. Bodies are never buffered: each side is
// read as fast as the other side is written.

import type { Readable, Writable } from 'node:stream';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { Backend, Endpoint, Mirror, WeightedBackend } from '../model.ts';
import type { Router } from '../routing/router.ts';
import {
  type BackClient,
  BackError,
  type BackExchange,
  type BackRequest,
  type BackResponse,
} from './back.ts';
import { backRequestOf, filteredResponse } from './back-request.ts';
import type { Balancer } from './balancer.ts';
import type { FrontRequest } from './front.ts';
import { changeHeaders, endToEnd, headerValue } from './headers.ts';
import { answer } from './local-answer.ts';
import type { IngressMetrics } from './metrics.ts';
import { type RoutedTarget, routeRequest } from './route-request.ts';
import { redirectLocation } from './target.ts';

export interface ExchangeServices {
  readonly clients: Readonly<Record<Backend['protocol'], BackClient>>;
  readonly balancer: Balancer;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: IngressMetrics;
  /** Reports whether the forwarded headers of this client are trusted. */
  readonly trusts: (address: string) => boolean;
  /** The limit in bytes. undefined: no limit. */
  readonly maxRequestBody: number | undefined;
  /** Called at the end of every exchange, for the access log. undefined: no access log. */
  readonly log: ((entry: LogEntry) => void) | undefined;
}

export interface LogEntry {
  readonly client: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  readonly route: string | undefined;
  readonly endpoint: string | undefined;
}

/** The maximum number of attempts at endpoints of one back end. */
const MAX_ATTEMPTS = 3;
/**
 * Methods that may be repeated if the back end may have handled the request (RFC 9110, section
 * 9.2.2).
 */
const IDEMPOTENT: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PUT',
  'DELETE',
]);
/** A mirrored request whose backlog exceeds this number of bytes is aborted. */
const MAX_MIRROR_BACKLOG = 1024 * 1024;

export class Exchange {
  readonly #front: FrontRequest;
  readonly #services: ExchangeServices;
  readonly #started: number;
  #status = 0;
  #route: string | undefined;
  #endpoint: string | undefined;
  #back: BackExchange | undefined;
  #closed = false;
  #timer: Timer | undefined;
  readonly #mirrors: BackExchange[] = [];

  constructor(front: FrontRequest, services: ExchangeServices) {
    this.#front = front;
    this.#services = services;
    this.#started = services.clock.monotonic();
    front.onClose((complete) => this.#onClose(complete));
  }

  /**
   * Runs the exchange. Resolves when the response has begun. Never rejects because of clients or
   * back ends.
   */
  async run(router: Router): Promise<void> {
    const front = this.#front;
    const routed = routeRequest(front, router);
    if (!('rule' in routed)) return this.#answer(routed.status, routed.text);
    const { action, path } = routed.rule;
    this.#route = action.route;
    if (action.redirect !== undefined) {
      const at = {
        scheme: front.scheme,
        host: routed.host,
        port: front.localPort,
        target: routed.target,
      };
      const location = redirectLocation(action.redirect, at, path);
      const headers = changeHeaders(['location', location], action.responseHeaders ?? NO_CHANGES);
      return this.#answer(action.redirect.status, '', headers);
    }
    const { maxRequestBody } = this.#services;
    if (
      maxRequestBody !== undefined &&
      Number(headerValue(front.headers, 'content-length') ?? 0) > maxRequestBody
    ) {
      return this.#answer(413, 'the request is too large');
    }
    const chosen = this.#services.balancer.pick(action);
    if (chosen === undefined) return this.#answer(500, 'no back end');
    if (typeof chosen.target === 'number') return this.#answer(chosen.target, 'no back end');
    if (action.requestTimeoutMs !== undefined) {
      this.#timer = this.#services.clock.setTimer(action.requestTimeoutMs, () => this.#timedOut());
    }
    await this.#forward(routed, chosen, chosen.target);
  }

  async #forward(routed: RoutedTarget, chosen: WeightedBackend, backend: Backend): Promise<void> {
    const { clients, balancer, metrics, clock } = this.#services;
    const { action } = routed.rule;
    const trusted = this.#services.trusts(this.#front.remoteAddress);
    const request = backRequestOf(this.#front, routed, chosen, trusted);
    const endpoints = balancer.endpoints(backend, MAX_ATTEMPTS);
    if (endpoints.length === 0) return this.#answer(503, 'no endpoint is ready');
    for (const mirror of action.mirrors) this.#mirror(mirror, request);
    let written = false;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const endpoint = endpoints[attempt % endpoints.length]!;
      this.#endpoint = `${endpoint.ip} ${endpoint.port}`;
      if (attempt > 0) metrics.retried();
      const back = trySend(clients[backend.protocol], endpoint, request);
      if (back === undefined) return this.#answer(400, 'the request cannot be forwarded');
      this.#back = back;
      let late = false;
      const timer =
        action.backendTimeoutMs === undefined
          ? undefined
          : clock.setTimer(action.backendTimeoutMs, () => {
              late = true;
              back.abort('the back end takes too long');
            });
      if (request.hasBody) {
        back.onReady(() => {
          written = true;
          this.#sendBody(back.body);
        });
      }
      try {
        const response = await back.response;
        if (timer !== undefined) this.#front.onClose(() => timer.cancel());
        if (this.#closed) back.abort('the client is gone');
        else this.#respond(response, chosen, routed);
        return;
      } catch (error) {
        timer?.cancel();
        if (!(error instanceof BackError)) throw error;
        if (this.#closed || this.#status !== 0) return;
        metrics.backFailed(error.reason);
        if (late) return this.#answer(504, 'the back end takes too long');
        if (attempt + 1 < MAX_ATTEMPTS && mayRetry(error, request, written)) continue;
        return this.#answer(
          502,
          error.sent === 'unsent'
            ? 'the back end cannot be reached'
            : 'the back end has not answered',
        );
      }
    }
  }

  #sendBody(body: Writable): void {
    const source = this.#front.body;
    body.on('error', () => source.unpipe(body));
    // From here on the body flows, so all readers have to be attached.
    if (this.#services.maxRequestBody !== undefined) this.#limitBody(this.#services.maxRequestBody);
    for (const copy of this.#mirrors)
      copyBody(source, copy.body, () => copy.abort('the copy is too slow'));
    source.pipe(body);
  }

  #limitBody(limit: number): void {
    let size = 0;
    this.#front.body.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit || this.#status !== 0) return;
      this.#answer(413, 'the request is too large');
      this.#back?.abort('the request is too large');
    });
  }

  #respond(response: BackResponse, chosen: WeightedBackend, { rule }: RoutedTarget): void {
    const front = this.#front;
    const headers = filteredResponse(endToEnd(response.headers), rule.action, chosen);
    const { status, body } = response;
    this.#status = status;
    const bodiless =
      front.method === 'HEAD' || status === 204 || status === 304 || response.headOnly;
    const trailers =
      response.mayHaveTrailers && !response.headOnly
        ? () => endToEnd(response.trailers())
        : undefined;
    let writable: Writable;
    try {
      writable = front.respond(status, headers, {
        bodiless: bodiless && trailers === undefined,
        trailers,
      });
    } catch {
      // The back end's headers cannot be sent, for example because of an invalid status code.
      this.#status = 502;
      this.#back?.abort('malformed answer');
      this.#answer(502, 'the answer of the back end is malformed');
      return;
    }
    if (bodiless && trailers === undefined) {
      body.resume();
      return;
    }
    body.on('error', () => front.abort());
    body.on('aborted', () => front.abort());
    writable.on('error', () => this.#back?.abort('the client is gone'));
    // A slow client pauses the reading of the back end's response, and vice versa.
    body.pipe(writable);
  }

  /**
   * Sends a copy of the request. Its response is discarded, and it never delays the request itself.
   */
  #mirror({ backend, numerator, denominator }: Mirror, request: BackRequest): void {
    const { random, balancer, clients, metrics } = this.#services;
    if (random.int(denominator) >= numerator) return;
    const [endpoint] = balancer.endpoints(backend, 1);
    if (endpoint === undefined) return;
    const copy = trySend(clients[backend.protocol], endpoint, request);
    if (copy === undefined) return;
    metrics.mirrored();
    this.#mirrors.push(copy);
    void copy.response.then(
      ({ body }) => {
        body.on('error', () => undefined);
        body.resume();
      },
      (error: unknown) =>
        metrics.backFailed(error instanceof BackError ? error.reason : 'protocol'),
    );
  }

  #timedOut(): void {
    if (this.#closed) return;
    if (this.#status === 0) this.#answer(504, 'the request takes too long');
    else this.#front.abort();
    this.#back?.abort('the request takes too long');
  }

  #answer(status: number, text: string, headers: readonly string[] = []): void {
    if (this.#closed) return;
    this.#status = status;
    answer(this.#front, status, text, headers);
    // The rest of the body is discarded.
    this.#front.body.resume();
  }

  #onClose(complete: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    if (!complete) {
      this.#back?.abort('the client is gone');
      for (const mirror of this.#mirrors) mirror.abort('the client is gone');
    }
    const { clock, metrics, log } = this.#services;
    const durationMs = clock.monotonic() - this.#started;
    // 499, as in nginx: the client did not wait for a response.
    const status = this.#status === 0 ? 499 : this.#status;
    const { protocol, method, target, authority, remoteAddress } = this.#front;
    metrics.requestEnded(status, protocol, durationMs / 1000);
    const question = target.indexOf('?');
    log?.({
      client: remoteAddress,
      method,
      host: authority,
      // Queries may contain secrets.
      path: question < 0 ? target : target.slice(0, question),
      status,
      durationMs,
      route: this.#route,
      endpoint: this.#endpoint,
    });
  }
}

const NO_CHANGES = { set: [], add: [], remove: [] };

/**
 * Sends a request. Returns undefined for a request that the protocol cannot express, for example
 * because of a character in a header.
 */
function trySend(
  client: BackClient,
  endpoint: Endpoint,
  request: BackRequest,
): BackExchange | undefined {
  try {
    return client.send(endpoint, request);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return undefined;
  }
}

function mayRetry(
  { sent, reason }: BackError,
  { method, hasBody }: BackRequest,
  written: boolean,
): boolean {
  if (hasBody && written) return false;
  if (sent === 'unsent') return true;
  // A pod that ends in a rolling update resets connections. Nothing of a response has arrived.
  return reason === 'reset' && IDEMPOTENT.has(method) && !hasBody;
}

/** Copies a body without slowing down its other reader. */
function copyBody(source: Readable, body: Writable, giveUp: () => void): void {
  const onData = (chunk: Buffer): void => {
    body.write(chunk);
    if (body.writableLength > MAX_MIRROR_BACKLOG) giveUp();
  };
  const onEnd = (): void => void body.end();
  const stop = (): void => {
    source.off('data', onData);
    source.off('end', onEnd);
  };
  body.on('error', stop);
  body.on('close', stop);
  source.on('data', onData);
  source.on('end', onEnd);
}
