// Relays a request to a node's kubelet, or to another peer that a connector reaches, and the
// response back. Bodies are streamed with back-pressure in both directions; upgraded connections
// (SPDY, WebSocket) are joined byte for byte. machinery/net/peer owns the connection.

import { errorMessage } from '#machinery/error-message.ts';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Duplex, Readable } from 'node:stream';

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { connectionOptions, isHopByHop } from '#machinery/net/hop-by-hop.ts';
import {
  AddressNotAllowedError,
  type Answer,
  BodyAbortedError,
  exchange,
  joinConnections,
} from '#machinery/net/peer/index.ts';
import { isFrontProxyHeader } from '../authentication/front-proxy-headers.ts';
import { withoutToken } from '../authentication/websocket-token.ts';
import type { NodeConnector, NodeTarget } from '../node-connector.ts';
import type { ApiRequest, ApiResponse, Upgrade } from '../request.ts';
import { isAtOwnOrigin, isOriginWide } from './foreign-page.ts';

export interface RelayTarget {
  readonly node: NodeTarget;
  /** The path at the kubelet, with its query. */
  readonly path: string;
  /** The resource of the request, for messages. */
  readonly resource: { readonly group: string; readonly resource: string };
  readonly name: string;
}

/** The maximum size of a kubelet's error message that is passed on. */
const MAX_ERROR_BYTES = 8 * 1024;
/** The timeout of an upgrade in ms. A peer responds to it before it starts its work. */
const UPGRADE_TIMEOUT_MS = 30_000;

export interface RelayConfig {
  readonly clock: Clock;
  /** Connects to the peers. Absent: requests fail with 503. */
  readonly connector: NodeConnector | undefined;
  /**
   * Returns headers that are added to the client's, or replace them, with lower-case names.
   * Default: the host 'kubelet', and X-Forwarded-For.
   */
  readonly headers?: (request: ApiRequest, target: RelayTarget) => OutgoingHttpHeaders;
  /**
   * Returns the error for a peer that does not respond. Default: 500, `error dialing backend:
   * MESSAGE`.
   */
  readonly unreachable?: (message: string) => apierrors.StatusError;
}

export class NodeRelay {
  readonly #config: RelayConfig;

  constructor(config: RelayConfig) {
    this.#config = config;
  }

  /** Returns the peer's response, whatever its code. The body is a stream. */
  async forward(request: ApiRequest, target: RelayTarget): Promise<ApiResponse> {
    const peerResponse = await this.#request(request, target);
    const headers: Record<string, string | readonly string[]> = {};
    for (const [name, value] of Object.entries(peerResponse.headers)) {
      if (
        value === undefined ||
        isHopByHop(name) ||
        name === 'content-length' ||
        name === 'content-type'
      )
        continue;
      headers[name] = value;
    }
    const contentType = peerResponse.headers['content-type'] ?? 'application/octet-stream';
    return {
      code: peerResponse.statusCode ?? 502,
      headers,
      body: { kind: 'stream', contentType, stream: peerResponse },
    };
  }

  /** Returns the body of a successful response as a stream. Throws StatusError for any other. */
  async stream(
    request: ApiRequest,
    target: RelayTarget,
    contentType: string,
  ): Promise<ApiResponse> {
    const peerResponse = await this.#request(request, target);
    const code = peerResponse.statusCode ?? 502;
    if (code >= 300 && code < 400) {
      peerResponse.destroy();
      throw apierrors.internalError('the kubelet answered with a redirect, which is not followed');
    }
    if (code < 200 || code > 206) throw await failureOf(peerResponse, target);
    return { code: 200, body: { kind: 'stream', contentType, stream: peerResponse } };
  }

  /**
   * Joins the connections of the client and the peer. Throws StatusError if the peer rejects the
   * upgrade.
   */
  async upgrade(request: ApiRequest, target: RelayTarget): Promise<ApiResponse> {
    const { upgrade } = request;
    if (upgrade === undefined) throw apierrors.badRequest('Upgrade request required');
    const { clock } = this.#config;
    const { signal, method } = request;
    const headers = {
      ...this.#headers(request, target),
      connection: 'Upgrade',
      upgrade: request.headers['upgrade'] ?? '',
    };
    const exchanged = await this.#exchange(request, target, (connection) =>
      exchange({
        connection,
        method,
        path: target.path,
        headers,
        signal,
        clock,
        headTimeoutMs: UPGRADE_TIMEOUT_MS,
        upgrade: true,
      }),
    );
    if (exchanged.kind === 'upgraded') {
      const done = joinUpgraded(clock, upgrade, exchanged, isAtOwnOrigin(request));
      return { code: 101, body: { kind: 'taken', done } };
    }
    const code = exchanged.message.statusCode ?? 502;
    if (code < 400) {
      exchanged.message.destroy();
      throw apierrors.internalError(`invalid upgrade response: status code ${code}`);
    }
    throw await failureOf(exchanged.message, target);
  }

  async #request(request: ApiRequest, target: RelayTarget): Promise<IncomingMessage> {
    const { clock } = this.#config;
    const { signal, method } = request;
    const headers = this.#headers(request, target);
    const body = await bodyOf(request);
    // Without a length the body is sent in chunks.
    if (body instanceof Uint8Array) headers['content-length'] = body.length;
    else if (body !== undefined && request.headers['content-length'] !== undefined)
      headers['content-length'] = request.headers['content-length'];
    const exchanged = await this.#exchange(request, target, (connection) =>
      exchange({ connection, method, path: target.path, headers, body, signal, clock }),
    );
    return exchanged.message;
  }

  async #exchange(
    request: ApiRequest,
    { node }: RelayTarget,
    ask: (connection: Duplex) => Promise<Answer>,
  ): Promise<Answer> {
    const { connector } = this.#config;
    if (connector === undefined)
      throw apierrors.serviceUnavailable('this API server has no way to reach the kubelets');
    try {
      return await ask(await connector.connect(node, request.signal));
    } catch (error) {
      if (error instanceof AddressNotAllowedError) throw apierrors.badRequest(error.message);
      if (error instanceof BodyAbortedError) throw apierrors.badRequest(error.message);
      throw this.#failure(error);
    }
  }

  #headers(request: ApiRequest, target: RelayTarget): OutgoingHttpHeaders {
    return {
      ...endToEnd(request),
      ...(this.#config.headers?.(request, target) ?? {
        host: 'kubelet',
        'x-forwarded-for': forwardedFor(request),
      }),
    };
  }

  #failure(error: unknown): apierrors.StatusError {
    if (error instanceof apierrors.StatusError) return error;
    const message = errorMessage(error);
    return (
      this.#config.unreachable?.(message) ??
      apierrors.internalError(`error dialing backend: ${message}`)
    );
  }
}

/** Returns the value of X-Forwarded-For: the addresses of the client and the proxies before this one. */
export function forwardedFor({ headers, remoteAddress }: ApiRequest): string {
  const before = headers['x-forwarded-for'];
  return before === undefined ? remoteAddress : `${before}, ${remoteAddress}`;
}

/** Returns the body to send; undefined if there is none. */
export async function bodyOf({ body }: ApiRequest): Promise<Uint8Array | Readable | undefined> {
  if (body.kind === 'object')
    return body.object === undefined ? undefined : Buffer.from(JSON.stringify(body.object), 'utf8');
  if (body.stream !== undefined) return body.stream();
  const bytes = await body.read();
  return bytes.length === 0 ? undefined : bytes;
}

/**
 * Returns the headers for the peer, without those of the client's connection, its credentials, and
 * the name of a user.
 */
function endToEnd(request: ApiRequest): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  const options = connectionOptions(request.headers['connection']);
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(':') || isHopByHop(name) || options.has(name))
      continue;
    if (
      name === 'authorization' ||
      name === 'host' ||
      name === 'content-length' ||
      name.startsWith('impersonate-') ||
      isFrontProxyHeader(name)
    )
      continue;
    if (name !== 'sec-websocket-protocol') headers[name] = value;
    else if (withoutToken(value) !== '') headers[name] = withoutToken(value);
  }
  return headers;
}

/**
 * Passes the peer's response head to the client, then joins the connections. Resolves when both are
 * closed. `isolated`: leaves out headers that would change the state of this server's origin in a
 * browser.
 */
export async function joinUpgraded(
  clock: Clock,
  client: Upgrade,
  peer: Extract<Answer, { kind: 'upgraded' }>,
  isolated = false,
): Promise<void> {
  const { socket, head } = client.take();
  const { message } = peer;
  let response = `HTTP/1.1 ${message.statusCode} ${message.statusMessage}\r\n`;
  for (let at = 0; at + 1 < message.rawHeaders.length; at += 2) {
    const name = message.rawHeaders[at]!;
    if (isolated && isOriginWide(name.toLowerCase())) continue;
    response += `${name}: ${message.rawHeaders[at + 1]}\r\n`;
  }
  if (!socket.destroyed) socket.write(`${response}\r\n`);
  if (peer.head.length > 0 && !socket.destroyed) socket.write(peer.head);
  if (head.length > 0 && !peer.connection.destroyed) peer.connection.write(head);
  await joinConnections(clock, socket, peer.connection);
}

async function failureOf(
  answer: IncomingMessage,
  target: RelayTarget,
): Promise<apierrors.StatusError> {
  const code = answer.statusCode ?? 502;
  const text = await readSome(answer);
  const status = parseStatus(text, code);
  if (status !== undefined) return apierrors.fromStatus(status);
  switch (code) {
    case 500:
      return apierrors.internalError(text);
    case 400:
      return apierrors.badRequest(text);
    default:
      return apierrors.genericServerResponse({
        code,
        verb: '',
        resource: target.resource,
        name: target.name,
        serverMessage: text,
        isUnexpectedResponse: false,
      });
  }
}

/** Reads the beginning of a body. If the peer breaks off, the text is shorter. */
async function readSome(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    if (chunks.length === 0) return `the response could not be read: ${errorMessage(error)}`;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString('utf8');
}

function parseStatus(text: string, code: number): apierrors.Status | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return apierrors.receivedStatus(JSON.parse(text), code);
  } catch {
    return undefined;
  }
}
