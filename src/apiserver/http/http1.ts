// The parts of HTTP/1.1 that the secure port and in-process connections share.

import { type IncomingHttpHeaders, type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import * as apierrors from '#machinery/apierrors.ts';
import type { ApiResponse } from '../request.ts';
import type { RequestState } from '../request-state.ts';
import { respond } from './respond.ts';
import type { ResponseHeaders, ResponseSink } from './response-sink.ts';

/** The reason with which a request is aborted when its client disconnects. */
export const CLIENT_GONE = new Error('the client has gone');
export const ANSWERED = new Error('the request is finished');

/**
 * Returns the path and the query of a request target: '/path?query', or a whole URL through a
 * proxy.
 */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  let rest = target;
  if (!rest.startsWith('/')) {
    const authority = rest.indexOf('://');
    const slash = authority < 0 ? -1 : rest.indexOf('/', authority + 3);
    rest = slash < 0 ? '/' : rest.slice(slash);
  }
  const question = rest.indexOf('?');
  return question < 0
    ? { path: rest, query: '' }
    : { path: rest.slice(0, question), query: rest.slice(question + 1) };
}

/** Returns the headers of a request. Only set-cookie can be a list, which no request has. */
export function flat(headers: IncomingHttpHeaders): Readonly<Record<string, string | undefined>> {
  return headers as Readonly<Record<string, string | undefined>>;
}

/**
 * Sends an ordinary response to an upgrade request that is rejected or not supported by the path,
 * then calls `close`.
 */
export async function answerWithoutUpgrade(
  request: RequestState,
  answer: ApiResponse,
  message: IncomingMessage,
  socket: Duplex,
  close: () => void,
): Promise<void> {
  const response = new ServerResponse(message);
  response.shouldKeepAlive = false;
  // After an upgrade, Node no longer forwards this event of the connection.
  socket.on('drain', () => response.emit('drain'));
  response.on('error', (error) => request.abort(error));
  response.once('finish', close);
  response.assignSocket(socket as Socket);
  await respond(request, answer, new Http1Sink(response));
}

/** The destination of a response on a connection. */
export interface ConnectionSink extends ResponseSink {
  readonly begun: boolean;
}

/**
 * Ends a response that could not be sent: with an error if nothing has been sent, otherwise by
 * breaking the stream, so that the client notices the incomplete body.
 */
export function giveUp({ auditId }: RequestState, sink: ConnectionSink): void {
  if (!sink.open) return;
  if (sink.begun) {
    sink.writable.destroy(new Error('the response could not be sent entirely'));
    return;
  }
  const { status } = apierrors.internalError(
    'the response could not be sent; the log of the API server says why',
  );
  const headers = {
    'content-type': 'application/json',
    ...(auditId !== undefined && { 'audit-id': auditId }),
  };
  sink.whole(500, headers, Buffer.from(`${JSON.stringify(status)}\n`, 'utf8'));
}

export class Http1Sink implements ConnectionSink {
  readonly writable: ServerResponse;
  readonly #closing: () => void;

  /** Creates the sink. `closing`: called before a response after which the connection is closed. */
  constructor(response: ServerResponse, closing: () => void = () => undefined) {
    this.writable = response;
    this.#closing = closing;
  }

  /** Closes the connection after a 413, because the rest of the body is not read. */
  #closeAfter(code: number, headers: ResponseHeaders): void {
    if (code !== 413) return;
    headers['connection'] = 'close';
    this.#closing();
  }

  get open(): boolean {
    return !this.writable.destroyed && this.writable.writable;
  }

  get begun(): boolean {
    return this.writable.headersSent;
  }

  begin(code: number, headers: ResponseHeaders, length: number | undefined): void {
    if (length !== undefined) headers['content-length'] = String(length);
    this.#closeAfter(code, headers);
    this.writable.writeHead(code, headers as Record<string, string>);
    // The head is sent at once for streams, so that watchers see that the watch has begun.
    if (length === undefined) this.writable.flushHeaders();
  }

  whole(code: number, headers: ResponseHeaders, body: Uint8Array | undefined): void {
    headers['content-length'] = String(body?.length ?? 0);
    this.#closeAfter(code, headers);
    this.writable.writeHead(code, headers as Record<string, string>);
    this.writable.end(body);
  }
}

/**
 * Responds to a malformed request. `close`: closes the connection when the response has been sent.
 */
export function respondToMalformed(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  close: () => void,
): void {
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
  socket.write(
    `HTTP/1.1 ${code} ${reason}\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n${code} ${reason}`,
  );
  close();
}
