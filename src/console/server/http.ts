// Requests and responses as the console sees them: the parts of the API server's that it uses. The
// API server's own values have these shapes, so nothing is converted.

import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import { isPlainObject } from '#machinery/deep.ts';

export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface Credentials {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly peerCertificate?: {
    readonly commonName: string;
    readonly organizations: readonly string[];
    /** When the certificate expires, in wall-clock ms. */
    readonly notAfter: number;
  };
}

export interface ConsoleRequest extends Credentials {
  readonly method: string;
  /** The path as it was sent, percent-encoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body:
    | { readonly kind: 'object'; readonly object: unknown }
    | { readonly kind: 'bytes'; read(): Awaitable<Uint8Array> };
  readonly remoteAddress: string;
  readonly signal: AbortSignal;
  /** Present if the client asks for another protocol (WebSocket, SPDY). */
  readonly upgrade?: object;
  user?: User;
  /** The connection stays open although the request has no user. */
  keepsConnection?: boolean;
  abort(reason: unknown): void;
  /** Removes a cookie from the headers. */
  dropCookie(name: string): void;
}

export type ConsoleBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'text'; readonly contentType: string; readonly text: string }
  | { readonly kind: 'bytes'; readonly contentType: string; readonly bytes: Uint8Array }
  | {
      readonly kind: 'stream';
      readonly contentType: string;
      readonly stream: AsyncIterable<Uint8Array>;
    };

export interface ConsoleResponse {
  readonly code: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body: ConsoleBody;
}

/** A path behind authentication and authorization. */
export interface ConsoleRoute {
  handles(path: string): boolean;
  handle(request: ConsoleRequest): Promise<ConsoleResponse>;
}

/** The parts of the API server that the console needs. */
export interface ConsoleServices {
  /** Returns the user of credentials. Undefined: they are not valid. */
  authenticate(credentials: Credentials): Promise<User | undefined>;
  /** Returns a client whose requests are authorized as the user's. */
  clientOf(user: User, userAgent: string): Client;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

export const PREFIX = '/console/';
/** The user agent of requests that the console makes for a user. */
export const USER_AGENT = 'coxswain-console';

const NOSNIFF = { 'x-content-type-options': 'nosniff' };

export function json(
  value: unknown,
  { code = 200, headers = {} }: Partial<Pick<ConsoleResponse, 'code' | 'headers'>> = {},
): ConsoleResponse {
  return {
    code,
    headers: { 'cache-control': 'no-store', ...NOSNIFF, ...headers },
    body: {
      kind: 'text',
      contentType: 'application/json',
      text: `${JSON.stringify(value)}\n`,
    },
  };
}

export function text(code: number, message: string): ConsoleResponse {
  return {
    code,
    headers: NOSNIFF,
    body: { kind: 'text', contentType: 'text/plain; charset=utf-8', text: `${message}\n` },
  };
}

/** Streams values as lines of JSON, as watches do. */
export function jsonLines(values: AsyncIterable<unknown>): ConsoleResponse {
  async function* lines(): AsyncIterable<Uint8Array> {
    for await (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`, 'utf8');
  }
  return {
    code: 200,
    headers: { 'cache-control': 'no-store', ...NOSNIFF },
    body: { kind: 'stream', contentType: 'application/json', stream: lines() },
  };
}

/** Throws 405 for any other method. */
export function expectMethod({ method }: ConsoleRequest, ...allowed: readonly string[]): void {
  if (!allowed.includes(method)) throw apierrors.genericStatus(405);
}

const MAX_BODY_BYTES = 64 * 1024;

/**
 * Returns the body, a JSON object with the content type application/json. Throws BadRequest and
 * UnsupportedMediaType. `known`: the fields that it may have.
 */
export async function jsonBody(
  request: ConsoleRequest,
  known: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json')
    throw apierrors.unsupportedMediaType(['application/json']);
  const object = request.body.kind === 'object' ? request.body.object : await parsedBody(request);
  if (!isPlainObject(object)) throw apierrors.badRequest('the body must be a JSON object');
  const unknown = Object.keys(object).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw apierrors.badRequest(`the body has an unknown field; known are ${known.join(', ')}`);
  return object;
}

async function parsedBody({ body }: ConsoleRequest): Promise<unknown> {
  const bytes = body.kind === 'bytes' ? await body.read() : new Uint8Array();
  if (bytes.length > MAX_BODY_BYTES)
    throw apierrors.requestEntityTooLarge(`limit is ${MAX_BODY_BYTES}`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    // The message of the parser would quote the body, which may have a token.
    throw apierrors.badRequest('the body is not JSON');
  }
}
