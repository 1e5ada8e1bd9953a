// Sends requests as they arrive over HTTP (bytes, headers) to the handler chain, without a
// connection.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Random } from '#machinery/random.ts';
import type { ApiResponse, Handler, PeerCertificate, UserInfo } from '../request.ts';
import { RequestState } from '../request-state.ts';
import { AuditIds } from '../http/audit-ids.ts';
import { respond } from '../http/respond.ts';
import type { ResponseSink } from '../http/response-sink.ts';
import { sentWarnings } from '../http/warnings.ts';
import type { ApiServer } from '../server.ts';
import { Writable } from 'node:stream';
import { ADMIN } from './server.ts';

export interface RawRequest {
  readonly method?: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Names and values in turn. `headers` must then have the same values, joined. */
  readonly rawHeaders?: readonly string[];
  /** The body. An object is sent as JSON. */
  readonly body?: string | Uint8Array | object;
  /** The user. Default: ADMIN. `null`: authentication decides. */
  readonly user?: UserInfo | null;
  /** The certificate of the client. Default: none. */
  readonly peerCertificate?: PeerCertificate;
  /** The source of the request's audit ID. Default: the request has none. */
  readonly random?: Random;
}

export interface RawResponse {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON. */
  readonly json: Answer;
  readonly warnings: readonly string[];
}

/** The fields of responses that tests read. */
export interface Answer extends KubeObject {
  readonly status?: unknown;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly unknown[];
    readonly name?: string;
    readonly kind?: string;
    readonly uid?: string;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly items: readonly Answer[];
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: unknown }[];
  readonly columnDefinitions: readonly { readonly name: string }[] | null;
}

export function rawRequest(raw: RawRequest, signal?: AbortSignal): RequestState {
  const question = raw.path.indexOf('?');
  const bytes = bytesOf(raw.body);
  return new RequestState({
    method: raw.method ?? 'GET',
    path: question < 0 ? raw.path : raw.path.slice(0, question),
    query: question < 0 ? '' : raw.path.slice(question + 1),
    headers: raw.headers ?? {},
    rawHeaders: raw.rawHeaders,
    body: { kind: 'bytes', read: () => Promise.resolve(bytes) },
    remoteAddress: '127.0.0.1',
    ...(raw.peerCertificate !== undefined && { peerCertificate: raw.peerCertificate }),
    ...(raw.random !== undefined && { auditIds: new AuditIds(raw.random) }),
    ...(raw.user !== null && { user: raw.user ?? ADMIN }),
    ...(signal !== undefined && { parentSignal: () => signal }),
  });
}

function bytesOf(body: RawRequest['body']): Uint8Array {
  if (body === undefined) return new Uint8Array();
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'utf8');
}

/** Sends a request, and returns the complete response. Not for watches. */
export function send(server: ApiServer, raw: RawRequest): Promise<RawResponse> {
  return sendTo(server.handler, raw);
}

/** Does the same with a handler instead of a server. */
export async function sendTo(handler: Handler, raw: RawRequest): Promise<RawResponse> {
  const request = rawRequest(raw);
  const response = await handler(request);
  const sink = new CollectingSink();
  await respond(request, response, sink);
  await sink.finished;
  const bytes = Buffer.concat(sink.chunks);
  const text = bytes.toString('utf8');
  return {
    code: sink.code,
    headers: sink.headers,
    bytes,
    text,
    get json() {
      return JSON.parse(text) as Answer;
    },
    warnings: sentWarnings(request.warnings),
  };
}

/** Returns the response of the handler chain. */
export function handle(
  server: ApiServer,
  raw: RawRequest,
  signal?: AbortSignal,
): Promise<ApiResponse> {
  return server.handler(rawRequest(raw, signal));
}

class CollectingSink implements ResponseSink {
  readonly chunks: Buffer[] = [];
  readonly writable: Writable;
  readonly finished: Promise<void>;
  readonly open = true;
  code = 0;
  headers: Record<string, string | readonly string[]> = {};

  constructor() {
    const { chunks } = this;
    this.writable = new Writable({
      write(chunk: Buffer, _encoding, callback) {
        // Copied, because the writer may reuse the chunk.
        chunks.push(Buffer.from(chunk));
        callback();
      },
    });
    this.finished = new Promise((resolve) => this.writable.once('finish', resolve));
  }

  begin(
    code: number,
    headers: Record<string, string | readonly string[]>,
    length: number | undefined,
  ): void {
    this.code = code;
    this.headers = {
      ...headers,
      ...(length !== undefined && { 'content-length': String(length) }),
    };
  }

  whole(
    code: number,
    headers: Record<string, string | readonly string[]>,
    body: Uint8Array | undefined,
  ): void {
    this.begin(code, headers, body?.length ?? 0);
    this.writable.end(body);
  }
}
