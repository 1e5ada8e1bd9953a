// The transport of components in the API server's own process. Requests pass the same handler chain
// as HTTP requests (authorization and admission included), but objects are passed by reference and
// nothing is serialized.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import { STATUS_CODES } from 'node:http';
import * as apierrors from '#machinery/apierrors.ts';
import { nextTurn } from '#machinery/turn.ts';
import { endedBy, mapWatch, type WatchEventType, type WatchStream } from '#machinery/watch.ts';
import { type Abortable, LinkedAbort, abortable } from './abort.ts';
import { queryParameters } from './request.ts';
import type { Transport, TransportRequest, WatchEvent } from './transport.ts';

/**
 * The request for the handler. A copy by spreading lacks the signal. The API server adds the user
 * and other values that its handler chain derives from the request.
 */
export interface InProcessRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: { readonly kind: 'object'; readonly object: unknown };
  readonly signal: AbortSignal;
  /** The state of `signal`, without the cost of creating it. */
  readonly call: Abortable;
  readonly remoteAddress: string;
  /** The handler chain appends to it; `onWarning` receives the items. */
  readonly warnings: string[];
}

/**
 * An object in a response. In the server's thread its decoded form is used and it is never encoded;
 * another thread gets its JSON, for which the server does not decode what is stored. The API
 * server's objects have both forms (`EncodedObject`).
 */
export interface Encoded {
  object(): unknown;
  /** Returns the length of its JSON in bytes. `identified`: with kind and apiVersion. */
  itemLength?(identified: boolean): number;
  /** Writes the JSON into `target`, which has room. Returns the offset after it. */
  copyItem?(target: Buffer, offset: number, identified: boolean): number;
  /**
   * The revision of the stored state, which no other state has: objects with the same one have the
   * same identified JSON. Absent: the object is not the current form of a stored state.
   */
  readonly state?: number;
}

/** The API server's response, as far as this transport uses it. */
export interface InProcessResponse {
  readonly code: number;
  readonly body:
    | { readonly kind: 'none' }
    | { readonly kind: 'object'; readonly object: Encoded }
    | {
        readonly kind: 'list';
        readonly apiVersion: string;
        readonly listKind: string;
        readonly metadata: Readonly<Record<string, unknown>>;
        readonly items: readonly Encoded[];
      }
    | {
        readonly kind: 'watch';
        readonly events: WatchStream<{ readonly type: WatchEventType; readonly object: Encoded }>;
      }
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
    | { readonly kind: 'stream'; readonly stream: AsyncIterable<Uint8Array> };
}

export type InProcessHandler = (request: InProcessRequest) => Promise<InProcessResponse>;

export interface InProcessTransportConfig {
  /**
   * The API server's chain after authentication. The handler decides which user makes the requests.
   */
  readonly handler: InProcessHandler;
  readonly userAgent?: string;
  /**
   * On a virtual clock, watches get only the last heartbeat of each node when the clock stops,
   * instead of each one. Watches last as long as their client. For components that need only the
   * current state. Default: false.
   */
  readonly latestHeartbeats?: boolean;
  /**
   * Watches leave out the renewals of Leases that were made together (apiserver/renewals). For
   * components that share their process with what makes them. Default: false.
   */
  readonly withoutRenewals?: boolean;
  /** Called with every warning that the server adds to a response. */
  readonly onWarning?: (message: string) => void;
}

/**
 * The number of requests after which the event loop gets a turn. A client that sends the next
 * request as soon as it has an answer would otherwise keep timers, sockets and watch events waiting
 * forever, since all of a request may happen in promise callbacks.
 */
const REQUESTS_PER_TURN = 100;

/** A year, in seconds. */
const NO_TIMEOUT = 365 * 86_400;
const LATEST_HEARTBEATS = { 'coxswain-heartbeats': 'latest' } as const;
const WITHOUT_RENEWALS = { 'coxswain-heartbeats': 'unrenewed' } as const;

export function createInProcessTransport(config: InProcessTransportConfig): Transport {
  return new InProcessTransport(config);
}

type ResponseOf<Kind extends InProcessResponse['body']['kind']> = Extract<
  InProcessResponse['body'],
  { kind: Kind }
>;

class InProcessTransport implements Transport {
  readonly #config: InProcessTransportConfig;
  /** Aborts all calls in flight when the transport is closed. */
  readonly #closed = new AbortController();
  #requests = 0;

  constructor(config: InProcessTransportConfig) {
    this.#config = config;
  }

  async request<T>(request: TransportRequest): Promise<T> {
    const body = await this.#call(request);
    switch (body.kind) {
      case 'object':
        return body.object.object() as T;
      case 'list':
        return {
          apiVersion: body.apiVersion,
          kind: body.listKind,
          metadata: body.metadata,
          items: await objectsOf(body.items),
        } as T;
      case 'text':
      case 'bytes':
        // Documents such as OpenAPI exist only in encoded form.
        return JSON.parse(
          body.kind === 'text' ? body.text : new TextDecoder().decode(body.bytes),
        ) as T;
      case 'stream':
        return JSON.parse(await textOf(body.stream)) as T;
      default:
        throw unexpected(request, body.kind);
    }
  }

  async watch<T>(request: TransportRequest): Promise<WatchStream<WatchEvent<T>>> {
    const call = new LinkedAbort(this.#closed.signal, request.signal);
    try {
      const patient = this.#config.latestHeartbeats === true && { timeoutSeconds: NO_TIMEOUT };
      const body = await this.#exchange(
        { ...request, query: { ...request.query, ...patient, watch: true } },
        call,
      );
      if (body.kind !== 'watch') throw unexpected(request, body.kind);
      return watchStream<T>(body, call);
    } catch (error) {
      call.release();
      throw error;
    }
  }

  async text(request: TransportRequest): Promise<string> {
    const body = await this.#call(request);
    switch (body.kind) {
      case 'text':
        return body.text;
      case 'bytes':
        return new TextDecoder().decode(body.bytes);
      case 'stream':
        return textOf(body.stream);
      case 'none':
        return '';
      case 'object':
        return stringifyJson(body.object.object());
      default:
        throw unexpected(request, body.kind);
    }
  }

  async stream(request: TransportRequest): Promise<AsyncIterable<Uint8Array>> {
    // The call lasts as long as its body.
    const call = new LinkedAbort(this.#closed.signal, request.signal);
    let body: InProcessResponse['body'];
    try {
      body = await this.#exchange(request, call);
    } catch (error) {
      call.release();
      throw error;
    }
    if (body.kind === 'stream') return releasing(body.stream, call);
    call.release();
    switch (body.kind) {
      case 'text':
        return once(new TextEncoder().encode(body.text));
      case 'bytes':
        return once(body.bytes);
      case 'none':
        return once(new Uint8Array());
      default:
        throw unexpected(request, body.kind);
    }
  }

  close(): void {
    this.#closed.abort(apierrors.serviceUnavailable('the client is closed'));
  }

  async #call(request: TransportRequest): Promise<InProcessResponse['body']> {
    const call = new LinkedAbort(this.#closed.signal, request.signal);
    try {
      return await this.#exchange(request, call);
    } finally {
      call.release();
    }
  }

  /**
   * Returns the body of a successful response; throws for any other. Rejects as soon as the call
   * aborts.
   */
  async #exchange(
    request: TransportRequest,
    call: LinkedAbort,
  ): Promise<InProcessResponse['body']> {
    if (++this.#requests % REQUESTS_PER_TURN === 0) await nextTurn();
    call.throwIfAborted();
    const warnings: string[] = [];
    const headers: Record<string, string | undefined> = {
      accept: request.accept ?? 'application/json',
      'content-type':
        request.body === undefined ? undefined : (request.contentType ?? 'application/json'),
      'user-agent': this.#config.userAgent ?? 'coxswain',
      ...(this.#config.latestHeartbeats === true && LATEST_HEARTBEATS),
      ...(this.#config.withoutRenewals === true && WITHOUT_RENEWALS),
    };
    const answer = this.#config.handler(new OutgoingRequest(request, headers, warnings, call));
    let response: InProcessResponse;
    try {
      // The caller does not wait for a handler that ignores its signal.
      response = await abortable(answer, call);
    } catch (error) {
      // The handler may still return a watch, which has no reader to stop it.
      if (call.aborted)
        void answer
          .then(({ body }) => body.kind === 'watch' && body.events.stop())
          .catch(() => undefined);
      throw error;
    }
    for (const warning of warnings) this.#config.onWarning?.(warning);
    if (response.code >= 200 && response.code < 300) return response.body;
    throw failureOf(request, response);
  }
}

/** The number of objects of a list that are decoded in one turn of the event loop. */
const DECODED_PER_TURN = 250;

/** Decodes the objects, those of a long list in several turns of the event loop. */
async function objectsOf(items: readonly Encoded[]): Promise<unknown[]> {
  const objects: unknown[] = [];
  for (const item of items) {
    if (objects.length > 0 && objects.length % DECODED_PER_TURN === 0) await nextTurn();
    objects.push(item.object());
  }
  return objects;
}

/** A class: an object literal with its own getter costs about half as much as the whole call. */
class OutgoingRequest implements InProcessRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: InProcessRequest['headers'];
  readonly body: InProcessRequest['body'];
  readonly remoteAddress = '127.0.0.1';
  readonly warnings: string[];
  readonly call: LinkedAbort;

  constructor(
    { method, path, query, body }: TransportRequest,
    headers: InProcessRequest['headers'],
    warnings: string[],
    call: LinkedAbort,
  ) {
    this.method = method;
    this.path = path;
    this.query = queryParameters(query);
    this.headers = headers;
    this.body = { kind: 'object', object: body };
    this.warnings = warnings;
    this.call = call;
  }

  /** Created on request: most requests finish before a caller needs the signal. */
  get signal(): AbortSignal {
    return this.call.signal;
  }
}

function watchStream<T>(
  { events }: ResponseOf<'watch'>,
  call: LinkedAbort,
): WatchStream<WatchEvent<T>> {
  const mapped = mapWatch(events, (event): WatchEvent<T> => ({
    type: event.type,
    object: event.object.object() as T,
  }));
  const stop = (): void => {
    mapped.stop();
    call.abort();
  };
  call.signal.addEventListener('abort', () => mapped.stop());
  if (call.signal.aborted) stop();
  return endedBy(mapped, stop);
}

function failureOf(request: TransportRequest, response: InProcessResponse): apierrors.StatusError {
  const { body, code } = response;
  if (body.kind === 'object') {
    const status = apierrors.receivedStatus(body.object.object(), code);
    if (status !== undefined) return apierrors.fromStatus(status);
  }
  const text = body.kind === 'text' ? body.text : (STATUS_CODES[code] ?? 'unknown');
  return apierrors.genericServerResponse({
    code,
    verb: request.method,
    serverMessage: text,
    isUnexpectedResponse: true,
  });
}

function unexpected(request: TransportRequest, kind: string): Error {
  return new Error(
    `${request.method} ${request.path} returned a body of kind ${kind}, which this call does not support`,
  );
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

async function* releasing(
  chunks: AsyncIterable<Uint8Array>,
  call: LinkedAbort,
): AsyncIterable<Uint8Array> {
  try {
    yield* chunks;
  } finally {
    call.release();
  }
}

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
