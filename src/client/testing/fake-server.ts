// A small API server for the transports' tests: it has a few fixed paths, echoes others, and is
// also reachable over HTTP.

import http from 'node:http';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import * as apierrors from '#machinery/apierrors.ts';
import { WatchQueue, type WatchEventType } from '#machinery/watch.ts';
import { LinkedAbort } from '../abort.ts';
import type { InProcessHandler, InProcessRequest, InProcessResponse } from '../in-process.ts';

interface FakeEvent {
  readonly type: WatchEventType;
  readonly object: { object(): unknown };
}

export class FakeServer {
  /** The watches that were opened, oldest first. */
  readonly watches: WatchQueue<FakeEvent>[] = [];
  /** The paths of requests whose signal aborted. */
  readonly aborted: string[] = [];

  readonly handler: InProcessHandler = async (request) => {
    request.signal.addEventListener('abort', () => this.aborted.push(request.path));
    const name = request.path.slice(request.path.lastIndexOf('/') + 1);
    if (request.query.get('watch') === 'true') return this.#watch(request);
    switch (name) {
      case 'missing':
        return status(apierrors.notFound({ group: '', resource: 'things' }, 'missing').status);
      case 'broken':
        return { code: 502, body: { kind: 'text', text: 'bad gateway' } };
      case 'never':
        return new Promise(() => undefined);
      case 'readyz':
        return { code: 200, body: { kind: 'text', text: 'ok' } };
      case 'log':
        return { code: 200, body: { kind: 'stream', stream: pieces('one\n', 'two\n', 'thrée\n') } };
      case 'things':
        if (request.method === 'GET') return this.#list(request);
        break;
      case 'warn':
        request.warnings.push('it is "deprecated"', 'use another');
        break;
      default:
    }
    return {
      code: request.method === 'POST' ? 201 : 200,
      body: { kind: 'object', object: encoded(echo(request)) },
    };
  };

  /** Pushes an event to every watch. */
  push(type: WatchEventType, object: unknown): void {
    const event = { type, object: encoded(object) };
    for (const watch of this.watches) watch.push(event);
  }

  #watch(request: InProcessRequest): InProcessResponse {
    if (request.query.get('resourceVersion') === '1')
      return status(apierrors.resourceExpired('too old').status);
    const events = new WatchQueue<FakeEvent>();
    request.signal.addEventListener('abort', () => events.stop());
    this.watches.push(events);
    return { code: 200, body: { kind: 'watch', events } };
  }

  #list(request: InProcessRequest): InProcessResponse {
    const items = ['a', 'b'].map((name) =>
      encoded({ metadata: { name, selected: request.query.get('labelSelector') } }),
    );
    return {
      code: 200,
      body: {
        kind: 'list',
        apiVersion: 'v1',
        listKind: 'ThingList',
        metadata: { resourceVersion: '7' },
        items,
      },
    };
  }
}

function encoded(object: unknown): { object(): unknown } {
  return { object: () => object };
}

function echo(request: InProcessRequest): unknown {
  return {
    method: request.method,
    path: request.path,
    query: Object.fromEntries(request.query),
    contentType: request.headers['content-type'] ?? null,
    sent: request.body.object ?? null,
  };
}

function status(object: apierrors.Status): InProcessResponse {
  return { code: object.code ?? 500, body: { kind: 'object', object: encoded(object) } };
}

async function* pieces(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

export interface ServedOverHttp {
  readonly url: string;
  /** Breaks every connection, as a crash does. */
  breakConnections(): void;
  close(): Promise<void>;
  /** The headers of the last request. */
  lastHeaders: http.IncomingHttpHeaders;
  /** The number of connections made so far. */
  connections: number;
}

export interface ServeOptions {
  readonly protocol: 'http1' | 'https1' | 'http2';
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly maxConcurrentStreams?: number;
}

/** Serves the handler on a real socket. */
export async function serveOverHttp(
  handler: InProcessHandler,
  options: ServeOptions,
): Promise<ServedOverHttp> {
  const sockets = new Set<{ destroy(): unknown }>();
  const onRequest = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    served.lastHeaders = request.headers;
    void answer(handler, request, response);
  };
  const { tls = {}, maxConcurrentStreams } = options;
  let server: http.Server | http2.Http2SecureServer;
  if (options.protocol === 'http1') server = http.createServer(onRequest);
  else {
    const allowHTTP1 = options.protocol === 'https1';
    server = http2.createSecureServer({
      ...tls,
      allowHTTP1,
      ...(allowHTTP1 && { ALPNProtocols: ['http/1.1'] }),
      settings: { maxConcurrentStreams: maxConcurrentStreams ?? 250 },
    });
    server.on('request', onRequest as unknown as Parameters<typeof server.on>[1]);
  }
  server.on(
    'connection',
    (socket: { destroy(): unknown; on(event: 'close', listener: () => void): unknown }) => {
      served.connections++;
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const breakConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const served: ServedOverHttp = {
    url: `${options.protocol === 'http1' ? 'http' : 'https'}://127.0.0.1:${port}`,
    breakConnections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        breakConnections();
      }),
    lastHeaders: {},
    connections: 0,
  };
  return served;
}

async function answer(
  handler: InProcessHandler,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const gone = new LinkedAbort();
  response.on('close', () => {
    if (!response.writableEnded) gone.abort();
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const text = Buffer.concat(chunks).toString('utf8');
  const url = new URL(request.url ?? '/', 'http://server');
  const warnings: string[] = [];
  const answered = await handler({
    method: request.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: { 'content-type': request.headers['content-type'] },
    body: { kind: 'object', object: text === '' ? undefined : JSON.parse(text) },
    signal: gone.signal,
    call: gone,
    remoteAddress: '127.0.0.1',
    warnings,
  });
  const { body, code } = answered;
  const warning = warnings.map((message) => `299 - "${message.replaceAll('"', '\\"')}"`).join(', ');
  response.writeHead(code, {
    'content-type': body.kind === 'text' ? 'text/plain' : 'application/json',
    ...(warning && { warning }),
  });
  // In HTTP/2, headers are not sent before the first data, unless flushed.
  if ('flushHeaders' in response) response.flushHeaders();
  switch (body.kind) {
    case 'object':
      response.end(JSON.stringify(body.object.object()));
      break;
    case 'list': {
      const items = body.items.map((item) => item.object());
      response.end(
        JSON.stringify({
          apiVersion: body.apiVersion,
          kind: body.listKind,
          metadata: body.metadata,
          items,
        }),
      );
      break;
    }
    case 'watch':
      for await (const { type, object } of body.events)
        response.write(`${JSON.stringify({ type, object: object.object() })}\n`);
      response.end();
      break;
    case 'stream':
      for await (const chunk of body.stream) response.write(chunk);
      response.end();
      break;
    case 'text':
      response.end(body.text);
      break;
    default:
      response.end();
  }
}
