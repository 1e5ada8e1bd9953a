// Calls webhooks for admission and for conversion of custom resources. All calls of a server use
// one WebhookClients, so that webhooks with the same configuration share connections.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import { authenticationHeaders, type ServerAccess } from '#client/http/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { describeTransportError } from '#machinery/net/peer/index.ts';
import { formatDuration } from '#machinery/text/duration.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Find, FindAll } from '../../catalog/internal-client.ts';
import { resolveService } from '../../service-resolver/resolve.ts';
import { WebhookAgent } from './agent.ts';
import {
  type Place,
  placeOf,
  targetOf,
  targetOfServer,
  UnusableUrlError,
  type WebhookClientConfig,
  type WebhookTarget,
} from './config.ts';
import { WebhookCallError } from './errors.ts';
import { parseResponse, retryAfter } from './response.ts';
import { ResponseBodyError, ResponseTooLargeError, send, type WebhookResponse } from './send.ts';
import type { LocalWebhooks } from './local-webhooks.ts';
import type { CertificateMetrics } from './certificate-metrics.ts';

/** The maximum number of configurations whose connections are kept. */
const MAX_AGENTS = 200;
const MAX_REDIRECTS = 10;
/** The maximum number of repeated calls that a webhook may request with the header Retry-After. */
const MAX_RETRIES = 10;
const SWEEP_MS = 30_000;
const UNAUTHORIZED = 401;
const DEFAULT_MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

export interface WebhookClientsConfig {
  readonly find: Find;
  readonly findAll: FindAll;
  readonly clock: Clock;
  readonly random: Random;
  /** Counts problems of certificates. Default: nothing is counted. */
  readonly certificateMetrics?: CertificateMetrics;
  /** Is awaited before each call, within its time limit. Default: no delay. */
  readonly intercept?: (name: string, signal: AbortSignal) => Promise<void> | undefined;
  /** Webhooks that are functions of this process. Default: none. */
  readonly local?: LocalWebhooks;
}

export interface CallOptions {
  /**
   * The timeout of the whole call, in ms, from the first dial to the last byte. The webhook gets it
   * as `?timeout=`, in whole seconds.
   */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** The maximum size of the response. Default: 16 MiB. */
  readonly maxResponseBytes?: number;
  /**
   * The maximum number of object fields and list items in the response. Default: only the size is
   * limited.
   */
  readonly maxResponseValues?: number;
}

/** The deadline of the call has passed. */
class DeadlineError extends Error {
  constructor(message = 'context deadline exceeded') {
    super(message);
  }
}

/** Go's message for the timeout of an HTTP client, which is not that of a context. */
const CLIENT_TIMEOUT =
  'net/http: request canceled (Client.Timeout exceeded while awaiting headers)';

interface Entry {
  readonly target: WebhookTarget;
  readonly agent: WebhookAgent;
}

export class WebhookClients {
  readonly #config: WebhookClientsConfig;
  readonly #random: Random;
  /** Agents by configuration or server, the least recently used first. */
  readonly #agents = new Map<string | ServerAccess, Entry>();
  /** The numbers of credentials, in the keys of agents. */
  readonly #numbers = new WeakMap<ServerAccess, number>();
  #lastNumber = 0;
  #sweeping: { cancel(): void } | undefined;
  #closed = false;

  constructor(config: WebhookClientsConfig) {
    this.#config = config;
    this.#random = config.random.derive('webhooks');
  }

  /**
   * Posts a body to a webhook and resolves with the JSON of the response. `name`: the webhook's
   * name, for errors about its configuration. `body`: a value, or its JSON. Rejects with
   * WebhookCallError.
   */
  async call(
    name: string,
    config: WebhookClientConfig,
    body: object | string,
    options: CallOptions,
  ): Promise<unknown> {
    const entry = this.#agentFor(this.#keyOf(config), () => checkedTarget(name, config));
    const seconds = Math.max(1, Math.ceil(options.timeoutMs / 1000));
    const query = `?timeout=${formatDuration(seconds * 1000)}`;
    return this.#within(options, new DeadlineError(), async (signal) => {
      await this.#config.intercept?.(name, signal);
      return this.#callWithRetries(entry, { query, body, options, signal });
    });
  }

  /**
   * Posts a body to the server that a kubeconfig names, at exactly its path and with its
   * credentials, and resolves with the JSON of the response. Rejects with WebhookCallError.
   */
  async callServer(access: ServerAccess, body: object, options: CallOptions): Promise<unknown> {
    const entry = this.#agentFor(access, () => checkedServer(access.server, access));
    const query = `?timeout=${formatDuration(options.timeoutMs)}`;
    return this.#within(options, new DeadlineError(CLIENT_TIMEOUT), (signal) =>
      this.#callWithRetries(entry, { query, body, options, signal }),
    );
  }

  /** Calls with a signal that aborts at the timeout, or when the caller's signal does. */
  async #within<T>(
    { timeoutMs, signal }: CallOptions,
    deadline: DeadlineError,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    const timer = this.#config.clock.setTimer(timeoutMs, () => controller.abort(deadline));
    const onAbort = (): void =>
      controller.abort(new Error('context canceled', { cause: signal?.reason }));
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await call(controller.signal);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Closes unused connections now, and the others when their calls end. */
  close(): void {
    this.#closed = true;
    this.#sweeping?.cancel();
    for (const { agent } of this.#agents.values()) agent.retire();
    this.#agents.clear();
  }

  async #callWithRetries(entry: Entry, { query, body, options, signal }: Call): Promise<unknown> {
    const bytes = Buffer.from(typeof body === 'string' ? body : stringifyJson(body));
    for (let attempt = 0; ; attempt++) {
      const exchange = new Exchange(
        this.#config,
        entry,
        options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
        signal,
      );
      const response = await exchange.run(query, bytes);
      const seconds = attempt < MAX_RETRIES ? retryAfter(response) : undefined;
      if (seconds === undefined)
        return parseResponse(response, exchange.method, options.maxResponseValues);
      await this.#config.clock.sleep(seconds * 1000, signal).catch(() => undefined);
    }
  }

  #keyOf({ url, service, caBundle, access }: WebhookClientConfig): string {
    return JSON.stringify([
      url,
      service?.namespace,
      service?.name,
      service?.path,
      service?.port,
      caBundle,
      access === undefined ? 0 : this.#numberOf(access),
    ]);
  }

  /** Different credentials do not share connections. */
  #numberOf(access: ServerAccess): number {
    const number = this.#numbers.get(access) ?? ++this.#lastNumber;
    this.#numbers.set(access, number);
    return number;
  }

  #agentFor(key: string | ServerAccess, targetFor: () => WebhookTarget): Entry {
    const entry = this.#agents.get(key) ?? this.#newAgent(targetFor());
    if (this.#closed) {
      entry.agent.retire();
      return entry;
    }
    this.#sweeping ??= this.#config.clock.setInterval(SWEEP_MS, () => this.#sweep());
    // The entry is moved to the end, as the most recently used.
    this.#agents.delete(key);
    this.#agents.set(key, entry);
    for (const [oldest, { agent }] of this.#agents) {
      if (this.#agents.size <= MAX_AGENTS) break;
      this.#agents.delete(oldest);
      agent.retire();
    }
    return entry;
  }

  #newAgent(target: WebhookTarget): Entry {
    return {
      target,
      agent: new WebhookAgent({ target, clock: this.#config.clock, locate: this.#locate }),
    };
  }

  #sweep(): void {
    for (const { agent } of this.#agents.values()) agent.sweep();
  }

  /** Returns the address for a host. A redirect may lead to another host than the service's. */
  readonly #locate = async (
    { service, place }: WebhookTarget,
    host: string,
    port: number,
  ): Promise<{ host: string; port: number }> => {
    if (service === undefined || host !== place.host || port !== place.port) return { host, port };
    const services = { ...this.#config, random: this.#random };
    return resolveService(services, service.namespace, service.name, service.port);
  };
}

interface Call {
  readonly query: string;
  /** A value, or its JSON. */
  readonly body: object | string;
  readonly options: CallOptions;
  readonly signal: AbortSignal;
}

/** Returns the target of a kubeconfig's server. Throws WebhookCallError. */
function checkedServer(name: string, access: ServerAccess): WebhookTarget {
  try {
    return targetOfServer(access);
  } catch (error) {
    const message = `failed calling webhook ${quote(name)}: ${errorMessage(error)}`;
    throw new WebhookCallError(message, { misconfigured: true, cause: error });
  }
}

/** Returns the target. Throws WebhookCallError. */
function checkedTarget(name: string, config: WebhookClientConfig): WebhookTarget {
  try {
    return targetOf(config);
  } catch (error) {
    const why = errorMessage(error);
    const message =
      error instanceof UnusableUrlError ? `failed calling webhook ${quote(name)}: ${why}` : why;
    throw new WebhookCallError(message, { misconfigured: true, cause: error });
  }
}

/** One attempt: a request, and its redirects. */
class Exchange {
  method: 'POST' | 'GET' = 'POST';
  readonly #config: Pick<WebhookClientsConfig, 'clock' | 'certificateMetrics' | 'local'>;
  readonly #entry: Entry;
  readonly #maxResponseBytes: number;
  readonly #signal: AbortSignal;

  constructor(
    config: Pick<WebhookClientsConfig, 'clock' | 'certificateMetrics' | 'local'>,
    entry: Entry,
    maxResponseBytes: number,
    signal: AbortSignal,
  ) {
    this.#config = config;
    this.#entry = entry;
    this.#maxResponseBytes = maxResponseBytes;
    this.#signal = signal;
  }

  /** Sends the request and follows redirects. Throws WebhookCallError. */
  async run(firstQuery: string, sent: Buffer): Promise<WebhookResponse> {
    let { place } = this.#entry.target;
    let query = firstQuery;
    let body: Buffer | undefined = sent;
    for (let redirects = 1; ; redirects++) {
      const response = await this.#send(place, query, body);
      const location = redirectOf(response);
      if (location === undefined) return response;
      if (response.code < 307) {
        this.method = 'GET';
        body = undefined;
      }
      const next = resolveLocation(location, urlOf(place, query));
      if (next === undefined) {
        const why = `failed to parse Location header ${quote(location)}: ${describeUrlError(location)}`;
        throw failure(urlOf(place, query), why);
      }
      if (redirects >= MAX_REDIRECTS)
        throw failure(location, `stopped after ${MAX_REDIRECTS} redirects`);
      // The review must not leave the machine unencrypted.
      if (!next.startsWith('https:')) throw failure(location, 'a redirect may only lead to https');
      place = placeOf(next);
      query = new URL(next).search;
    }
  }

  /** Returns the client's name and its credentials, which other servers do not get. */
  async #headersFor(place: Place): Promise<Readonly<Record<string, string | readonly string[]>>> {
    const { access, place: first, userAgent } = this.#entry.target;
    const name = { 'user-agent': userAgent };
    if (access === undefined || place.host !== first.host || place.port !== first.port) return name;
    return { ...name, ...(await authenticationHeaders(access)) };
  }

  /** Makes a source of credentials get others for the next call. */
  async #rejectCredentials(): Promise<void> {
    const source = this.#entry.target.access?.credentials;
    source?.invalidate(await source.current());
  }

  async #send(place: Place, query: string, body: Buffer | undefined): Promise<WebhookResponse> {
    const { local } = this.#config;
    try {
      if (local?.serves(place.host) === true)
        return await local.send(place.host, body ?? Buffer.alloc(0), {
          maxResponseBytes: this.#maxResponseBytes,
          signal: this.#signal,
        });
      const response = await send({
        agent: this.#entry.agent,
        method: this.method,
        place,
        query,
        headers: await this.#headersFor(place),
        body,
        maxResponseBytes: this.#maxResponseBytes,
        signal: this.#signal,
      });
      if (response.code === UNAUTHORIZED) await this.#rejectCredentials();
      return response;
    } catch (error) {
      if (error instanceof ResponseBodyError || error instanceof ResponseTooLargeError) {
        const message = `unexpected error when reading response body. Please retry. Original error: ${error.message}`;
        throw new WebhookCallError(message, { cause: error });
      }
      const reason =
        error instanceof Error && error.message === '' && error.cause instanceof Error
          ? error.cause
          : error;
      this.#config.certificateMetrics?.failed(reason);
      throw failure(
        urlOf(place, query),
        describeTransportError(reason, this.#config.clock.now()),
        error,
      );
    }
  }
}

/** Returns the error. It has the method of the first request, also for redirects. */
function failure(url: string, why: string, cause?: unknown): WebhookCallError {
  return new WebhookCallError(`Post ${quote(url)}: ${why}`, { cause });
}

function urlOf({ authority, path, plain = false }: Place, query: string): string {
  return `${plain ? 'http' : 'https'}://${authority}${path}${query}`;
}

function redirectOf({ code, headers }: WebhookResponse): string | undefined {
  return [301, 302, 303, 307, 308].includes(code) && headers.location !== ''
    ? headers.location
    : undefined;
}

/** Returns Go's message for a URL that it cannot parse. */
function describeUrlError(url: string): string {
  const why = /^[^[]*\[[^\]]*$/.test(url) ? "missing ']' in host" : 'invalid URL';
  return `parse ${quote(url)}: ${why}`;
}

function resolveLocation(location: string, base: string): string | undefined {
  try {
    return new URL(location, base).href;
  } catch {
    return undefined;
  }
}
