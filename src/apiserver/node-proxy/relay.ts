// Carries a request to a node's kubelet (or to whatever else a connector reaches), and its answer back: ordinary answers as a
// stream, upgraded connections (SPDY, WebSocket) byte for byte in both directions.

import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';

import * as apierrors from '../../machinery/apierrors.ts';
import type { NodeConnector, NodeTarget } from '../node-connector.ts';
import type { ApiRequest, ApiResponse, Upgrade } from '../request.ts';

export interface RelayTarget {
  readonly node: NodeTarget;
  /** At the kubelet, with its query. */
  readonly path: string;
  /** What it is about, for messages. */
  readonly resource: { readonly group: string; readonly resource: string };
  readonly name: string;
}

/** What belongs to one connection, and must not be carried over to the next one. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** As much of a kubelet's error is passed on. */
const MAX_ERROR_BYTES = 8 * 1024;

export interface RelayOptions {
  /** Headers that are sent beside the client's, or instead of them: lower-case names. Default: the host 'kubelet'. */
  readonly headers?: (request: ApiRequest, target: RelayTarget) => OutgoingHttpHeaders;
  /** What the client is told if there is no answer. Default: 500, `error dialing backend: MESSAGE`. */
  readonly unreachable?: (message: string) => apierrors.StatusError;
}

export class NodeRelay {
  readonly #connector: NodeConnector | undefined;
  readonly #options: RelayOptions;

  constructor(connector: NodeConnector | undefined, options: RelayOptions = {}) {
    this.#connector = connector;
    this.#options = options;
  }

  /** The answer of the kubelet, whatever its code, as it comes. */
  async forward(request: ApiRequest, target: RelayTarget): Promise<ApiResponse> {
    const answer = await this.#send(request, target);
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(answer.headers)) {
      if (value === undefined || HOP_BY_HOP.has(name) || name === 'content-length' || name === 'content-type') continue;
      headers[name] = Array.isArray(value) ? value.join(', ') : value;
    }
    const contentType = answer.headers['content-type'] ?? 'application/octet-stream';
    return { code: answer.statusCode ?? 502, headers, body: { kind: 'stream', contentType, stream: answer } };
  }

  /** The body of a successful answer. Throws StatusError for any other. */
  async stream(request: ApiRequest, target: RelayTarget, contentType: string): Promise<ApiResponse> {
    const answer = await this.#send(request, target);
    const code = answer.statusCode ?? 502;
    if (code < 200 || code > 206) throw await failureOf(answer, target);
    return { code: 200, body: { kind: 'stream', contentType, stream: answer } };
  }

  /** Both sides' raw connections, joined. Throws StatusError if the kubelet does not want to. */
  async upgrade(request: ApiRequest, target: RelayTarget): Promise<ApiResponse> {
    const { upgrade } = request;
    if (upgrade === undefined) throw apierrors.badRequest('Upgrade request required');
    const connection = await this.#connect(target, request.signal);
    const outgoing = httpRequest({
      method: request.method,
      path: target.path,
      headers: { ...this.#headers(request, target), connection: 'Upgrade', upgrade: request.headers['upgrade'] ?? '' },
      createConnection: () => connection,
    });
    const answer = await new Promise<Upgraded | IncomingMessage>((resolve, reject) => {
      outgoing.once('upgrade', (message, socket, head) => resolve({ upgraded: true, message, socket, head }));
      outgoing.once('response', resolve);
      outgoing.once('error', (error) => reject(this.#failure(error)));
      outgoing.end();
    });
    if (!('upgraded' in answer)) throw await failureOf(answer, target);
    return { code: 101, body: { kind: 'taken', done: join(upgrade, answer) } };
  }

  async #send(request: ApiRequest, target: RelayTarget): Promise<IncomingMessage> {
    const { signal } = request;
    const connection = await this.#connect(target, signal);
    const body = request.body.kind === 'bytes' ? await request.body.read() : new Uint8Array();
    const headers = this.#headers(request, target);
    if (body.length > 0) headers['content-length'] = body.length;
    return new Promise((resolve, reject) => {
      const outgoing: ClientRequest = httpRequest({
        method: request.method,
        path: target.path,
        headers,
        createConnection: () => connection,
      });
      const abort = (): void => void connection.destroy();
      signal.addEventListener('abort', abort, { once: true });
      connection.once('close', () => signal.removeEventListener('abort', abort));
      outgoing.once('response', resolve);
      outgoing.once('error', (error) => reject(this.#failure(error)));
      outgoing.end(body);
    });
  }

  #headers(request: ApiRequest, target: RelayTarget): OutgoingHttpHeaders {
    return { ...endToEnd(request), ...(this.#options.headers?.(request, target) ?? { host: 'kubelet' }) };
  }

  #failure(error: unknown): apierrors.StatusError {
    const message = error instanceof Error ? error.message : String(error);
    return this.#options.unreachable?.(message) ?? apierrors.internalError(`error dialing backend: ${message}`);
  }

  async #connect({ node }: RelayTarget, signal: AbortSignal): Promise<Duplex> {
    if (this.#connector === undefined) throw apierrors.serviceUnavailable('this API server has no way to reach the kubelets');
    try {
      return await this.#connector.connect(node, signal);
    } catch (error) {
      throw this.#failure(error);
    }
  }
}

interface Upgraded {
  readonly upgraded: true;
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Headers for the other side: none about this connection, none about who asks. */
function endToEnd(request: ApiRequest): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(':') || HOP_BY_HOP.has(name)) continue;
    if (name === 'authorization' || name === 'host' || name === 'content-length' || name.startsWith('impersonate-')) continue;
    headers[name] = value;
  }
  return headers;
}

/** Resolves when both connections have ended. */
async function join(client: Upgrade, kubelet: Upgraded): Promise<void> {
  const { socket, head } = client.take();
  const { message } = kubelet;
  let response = `HTTP/1.1 ${message.statusCode} ${message.statusMessage}\r\n`;
  for (let at = 0; at + 1 < message.rawHeaders.length; at += 2) {
    response += `${message.rawHeaders[at]}: ${message.rawHeaders[at + 1]}\r\n`;
  }
  socket.write(`${response}\r\n`);
  if (kubelet.head.length > 0) socket.write(kubelet.head);
  if (head.length > 0) kubelet.socket.write(head);
  await Promise.all([pipe(socket, kubelet.socket), pipe(kubelet.socket, socket)]);
}

/** One direction. When the source breaks off, so does the destination. */
function pipe(source: Duplex, destination: Duplex): Promise<void> {
  return new Promise((resolve) => {
    source.pipe(destination);
    source.once('error', () => destination.destroy());
    source.once('close', () => {
      // A clean end has been passed on by the pipe already; half of a broken connection is of no use to anybody.
      if (!source.readableEnded) destination.destroy();
      resolve();
    });
  });
}

async function failureOf(answer: IncomingMessage, target: RelayTarget): Promise<apierrors.StatusError> {
  const code = answer.statusCode ?? 502;
  const text = await readSome(answer);
  const status = parseStatus(text);
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

async function readSome(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString('utf8');
}

function parseStatus(text: string): apierrors.Status | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value = JSON.parse(text) as Partial<apierrors.Status>;
    return value.kind === 'Status' ? (value as apierrors.Status) : undefined;
  } catch {
    return undefined;
  }
}
