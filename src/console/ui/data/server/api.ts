// Requests to the server, and what their results say about the connection and the session.

import type { Fetch } from '../../browser/fetch.ts';
import { ApiError, isAbort, type StatusBody, UnreachableError } from './api-error.ts';

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  /** Sent as it is if it is text, otherwise as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** The status says nothing about the session: another server answers, or credentials are new. */
  readonly apart?: boolean;
  /** Served without a session: the request is sent also when the session has ended. */
  readonly withoutSession?: boolean;
}

/** Called with what each request says about the server. */
export interface ApiObserver {
  /** The number of the session that a request is sent in. */
  readonly session: number;
  /** Whether that session has ended. */
  readonly sessionEnded: boolean;
  /** The server answered; 401 means that the session of the request has ended. */
  answered(code: number, session: number): void;
  unreachable(): void;
}

/** A longer text of an error is cut: it may be a proxy's page. */
const MAX_ERROR_TEXT = 2000;

export class Api {
  readonly #fetch: Fetch;
  readonly #observer: ApiObserver;

  constructor(fetch: Fetch, observer: ApiObserver) {
    this.#fetch = fetch;
    this.#observer = observer;
  }

  /**
   * Sends a request and returns a successful answer. Throws ApiError for an error of the server,
   * UnreachableError if no answer comes, and an AbortError if the signal aborts. Once the session
   * has ended, requests that need one throw ApiError 401 and are not sent: the server closes
   * connections with such requests, so the next sign-in might be lost with one of them.
   */
  async request(path: string, options: RequestOptions = {}): Promise<Response> {
    const { method = 'GET', accept = 'application/json', contentType, body, signal } = options;
    const { headers } = options;
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const init: RequestInit = {
      method,
      headers: {
        ...headers,
        Accept: accept,
        ...(text !== undefined && { 'Content-Type': contentType ?? 'application/json' }),
      },
      body: text,
      signal,
    };
    const { session, sessionEnded } = this.#observer;
    if (sessionEnded && options.withoutSession !== true)
      throw new ApiError(401, { reason: 'Unauthorized', message: 'the session has ended' });
    const response = await this.#send(path, init, method === 'GET' ? 1 : 0);
    if (options.apart !== true) this.#observer.answered(response.status, session);
    if (!response.ok) throw await toApiError(response);
    return response;
  }

  /**
   * Sends a request. `attempts`: further ones if no answer comes. A browser drops all requests when
   * an interface of the machine comes or goes, such as a VPN; reads are simply sent again.
   */
  async #send(path: string, init: RequestInit, attempts: number): Promise<Response> {
    try {
      return await this.#fetch(path, init);
    } catch (error) {
      if (isAbort(error) || init.signal?.aborted === true) throw error;
      if (attempts > 0) return this.#send(path, init, attempts - 1);
      this.#observer.unreachable();
      throw new UnreachableError(error);
    }
  }

  async json<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.request(path, options);
    return (await response.json()) as T;
  }

  async text(path: string, options: RequestOptions = {}): Promise<string> {
    const response = await this.request(path, options);
    return response.text();
  }
}

async function toApiError(response: Response): Promise<ApiError> {
  const text = (await response.text()).slice(0, MAX_ERROR_TEXT);
  try {
    const body = JSON.parse(text) as StatusBody;
    if (typeof body === 'object' && body !== null) return new ApiError(response.status, body);
  } catch (error) {
    // The answer is not a Status: its text is the message.
    if (!(error instanceof SyntaxError)) throw error;
  }
  return new ApiError(response.status, text === '' ? {} : { message: text });
}
