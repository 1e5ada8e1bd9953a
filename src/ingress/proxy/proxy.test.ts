// The proxy over real sockets.

import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
  type Server,
  type ServerResponse,
} from 'node:http';
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createServer as createHttp2Server,
} from 'node:http2';
import { connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { parseCidr } from '#machinery/net/ip.ts';
import { SeededRandom } from '#machinery/random.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import type { Configuration, Endpoint } from '../model.ts';
import {
  action,
  backend,
  certificate,
  configuration,
  listen,
  listener,
  rule,
} from '../testing/configurations.ts';
import { IngressMetrics } from './metrics.ts';
import { NodeProxy, type ProxyConfig } from './proxy.ts';

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanup.splice(0).reverse()) await step();
});

const metrics = new IngressMetrics();

async function startProxy(
  config: Configuration,
  more: Partial<ProxyConfig> = {},
): Promise<{ proxy: NodeProxy; port: number }> {
  const random = new SeededRandom('proxy');
  const proxy = new NodeProxy({
    clock: systemClock,
    random,
    logger: silentLogger,
    metrics,
    drainMs: 200,
    ...more,
  });
  cleanup.push(() => proxy.stop());
  expect(await proxy.apply(config)).toEqual(new Map());
  return { proxy, port: proxy.portOf('127.0.0.1', 0) as number };
}

async function startBackend(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Endpoint & { server: Server }> {
  const server = createServer(handler);
  const at = await listen(server);
  cleanup.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { ...at, server };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly trailers: IncomingMessage['trailers'];
  readonly body: string;
}

function send(
  port: number,
  options: RequestOptions = {},
  body?: string | Readable,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, path: '/', agent: false, ...options },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { headers, trailers, statusCode: status = 0 } = response;
          resolve({ status, headers, trailers, body: Buffer.concat(chunks).toString() });
        });
      },
    );
    request.on('error', reject);
    if (body instanceof Readable) body.pipe(request);
    else request.end(body);
  });
}

/** Sends raw bytes, and returns everything received until the connection closes. */
function sendRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host: '127.0.0.1', port }, () => socket.write(text));
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}

const echo = (request: IncomingMessage, response: ServerResponse): void => {
  response.end(
    JSON.stringify({ url: request.url, method: request.method, headers: request.headers }),
  );
};

describe('HTTP/1.1', () => {
  test('a request and its response pass, without hop-by-hop headers', async () => {
    const at = await startBackend((request, response) => {
      expect(request.headers['x-secret']).toBeUndefined();
      response.writeHead(201, {
        'x-answer': 'yes',
        connection: 'x-hop',
        'x-hop': 'gone',
        'set-cookie': ['a=1', 'b=2'],
      });
      request.pipe(response);
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    const headers = { connection: 'x-secret', 'x-secret': 'a', te: 'gzip' };
    const answer = await send(port, { method: 'POST', headers }, 'hello');
    expect(answer).toMatchObject({ status: 201, body: 'hello' });
    expect(answer.headers).toMatchObject({ 'x-answer': 'yes', 'set-cookie': ['a=1', 'b=2'] });
    expect(answer.headers['x-hop']).toBeUndefined();
  });

  test('forwarded headers describe the connection, and ignore the client’s own', async () => {
    const at = await startBackend(echo);
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    const claims = {
      host: 'web.example:8080',
      'x-forwarded-for': '6.6.6.6',
      x_forwarded_for: '6.6.6.6',
      'x-real-ip': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
      'x-forwarded-proto': 'https',
    };
    const { headers } = JSON.parse((await send(port, { headers: claims })).body) as {
      headers: Record<string, string>;
    };
    expect(headers).toMatchObject({
      host: 'web.example:8080',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'web.example:8080',
      'x-forwarded-port': String(port),
      'x-real-ip': '127.0.0.1',
    });
    expect(headers['forwarded'] ?? headers['x_forwarded_for']).toBeUndefined();
  });

  test('forwarded headers of a trusted proxy are kept and extended', async () => {
    const at = await startBackend(echo);
    const trustedProxies = [parseCidr('127.0.0.0/8') as NonNullable<ReturnType<typeof parseCidr>>];
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]), {
      trustedProxies,
    });
    const claims = { 'x-forwarded-for': '9.9.9.9', 'x-forwarded-proto': 'https' };
    const { headers } = JSON.parse((await send(port, { headers: claims })).body) as {
      headers: Record<string, string>;
    };
    expect(headers).toMatchObject({
      'x-forwarded-for': '9.9.9.9, 127.0.0.1',
      'x-forwarded-proto': 'https',
    });
  });

  test('a missing route, endpoint and back end have different status codes', async () => {
    const gone = await startBackend(echo);
    gone.server.close();
    const { port } = await startProxy(
      configuration([
        listener([
          rule(action(backend([])), '/none'),
          rule(action(500), '/invalid'),
          rule(action(backend([{ ip: gone.ip, port: gone.port }])), '/gone'),
        ]),
      ]),
    );
    const statusOf = async (path: string): Promise<number> => (await send(port, { path })).status;
    expect([
      await statusOf('/'),
      await statusOf('/none'),
      await statusOf('/invalid'),
      await statusOf('/gone'),
    ]).toEqual([404, 503, 500, 502]);
  });

  test('an unreachable endpoint is skipped, also for a request with a body', async () => {
    const gone = await startBackend(echo);
    gone.server.close();
    const at = await startBackend((request, response) => void request.pipe(response));
    const { port } = await startProxy(
      configuration([listener([rule(action(backend([gone, at])))])]),
    );
    for (let i = 0; i < 4; i++)
      expect(await send(port, { method: 'POST' }, 'body')).toMatchObject({
        status: 200,
        body: 'body',
      });
  });

  test('a reused connection that the back end closes is no error for an idempotent request', async () => {
    const sockets: Socket[] = [];
    const server = createTcpServer((socket) => {
      sockets.push(socket);
      let first = true;
      socket.on('error', () => undefined);
      socket.on('data', () => {
        // Responds once, and resets the connection at the next request.
        if (!first) return void socket.resetAndDestroy();
        first = false;
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const at = await listen(server);
    cleanup.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    for (let i = 0; i < 3; i++) expect(await send(port)).toMatchObject({ status: 200, body: 'ok' });
  });

  test('trailers pass', async () => {
    const at = await startBackend((_request, response) => {
      response.writeHead(200, { trailer: 'x-sum' });
      response.write('data');
      response.addTrailers({ 'x-sum': '42' });
      response.end();
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    expect(await send(port)).toMatchObject({ body: 'data', trailers: { 'x-sum': '42' } });
  });

  test('HEAD, 204 and 304 have no body', async () => {
    const at = await startBackend((request, response) => {
      response.writeHead(
        Number(request.url?.slice(1)),
        request.method === 'HEAD' ? { 'content-length': '5' } : {},
      );
      response.end();
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    expect(await send(port, { method: 'HEAD', path: '/200' })).toMatchObject({
      status: 200,
      headers: { 'content-length': '5' },
    });
    expect(await send(port, { path: '/204' })).toMatchObject({ status: 204, body: '' });
    expect(await send(port, { path: '/304' })).toMatchObject({ status: 304, body: '' });
  });
});

describe('malformed and hostile requests', () => {
  test.each([
    [
      'both lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd',
    ],
    [
      'an unknown coding',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    ],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\nConnection: close\r\n\r\n'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost : a\r\nConnection: close\r\n\r\n'],
    ['a bare line feed', 'GET / HTTP/1.1\nHost: a\nConnection: close\n\n'],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a host with a slash', 'GET / HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n'],
    ['a target without a slash', 'GET a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ])('%s: 400, and the back end sees nothing', async (_name, text) => {
    let seen = 0;
    const at = await startBackend((_request, response) => {
      seen++;
      response.end();
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    expect(await sendRaw(port, text)).toMatch(/^HTTP\/1.1 400 /);
    expect(seen).toBe(0);
  });

  test('large headers are rejected', async () => {
    const { port } = await startProxy(configuration([]));
    const text = `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`;
    expect(await sendRaw(port, text)).toMatch(/^HTTP\/1.1 431 /);
  });

  test('a path with dot segments is routed and forwarded resolved', async () => {
    const at = await startBackend(echo);
    const { port } = await startProxy(
      configuration([listener([rule(action(backend([at])), '/public')])]),
    );
    expect((await send(port, { path: '/public/../admin' })).status).toBe(404);
    expect((await send(port, { path: '/public/%2E%2e/admin' })).status).toBe(404);
    expect(JSON.parse((await send(port, { path: '/x/../public/./a?q=/../' })).body)).toMatchObject({
      url: '/public/a?q=/../',
    });
  });

  test('a target in absolute form is routed by its own host', async () => {
    const at = await startBackend(echo);
    const { port } = await startProxy(
      configuration([listener([rule(action(backend([at])))], { hostname: 'a.example' })]),
    );
    const text = (target: string): string =>
      `GET ${target} HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(port, text('http://a.example/x'))).toContain('"host":"a.example"');
    expect(await sendRaw(port, text('/x'))).toMatch(/^HTTP\/1.1 404 /);
  });

  test('a body that is too large is rejected, with and without a length', async () => {
    const at = await startBackend((request, response) => {
      request.resume();
      request.on('end', () => response.end());
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]), {
      maxRequestBody: 1000,
    });
    expect((await send(port, { method: 'POST' }, 'x'.repeat(999))).status).toBe(200);
    expect(
      (
        await send(
          port,
          { method: 'POST', headers: { 'content-length': '1001' } },
          'x'.repeat(1001),
        )
      ).status,
    ).toBe(413);
    const chunked = Readable.from([Buffer.alloc(600), Buffer.alloc(600)]);
    expect(
      (await send(port, { method: 'POST', headers: { 'transfer-encoding': 'chunked' } }, chunked))
        .status,
    ).toBe(413);
  });

  test('a client that sends nothing is disconnected', async () => {
    const clock = new VirtualClock();
    const { port } = await startProxy(configuration([]), { clock });
    const socket = connectTcp({ host: '127.0.0.1', port });
    cleanup.push(() => socket.destroy());
    socket.resume();
    const closed = once(socket, 'close');
    await once(socket, 'connect');
    await vi.waitFor(() => expect(metrics.text()).toMatch(/coxswain_ingress_connections [1-9]/), {
      timeout: 60_000,
    });
    await clock.advance('15s');
    await closed;
  });

  test('a request in pieces that begins like the preface of HTTP/2 is served', async () => {
    const { port } = await startProxy(configuration([]));
    const socket = connectTcp({ host: '127.0.0.1', port });
    cleanup.push(() => socket.destroy());
    const answer = once(socket, 'data') as Promise<[Buffer]>;
    for (const piece of ['PRI', ' * HTTP', '/1.1\r\nHost: a\r\n\r\n']) {
      socket.write(piece);
      await systemClock.sleep(10);
    }
    expect((await answer)[0].toString()).toMatch(/^HTTP\/1.1 400 /);
  });

  test('CONNECT is rejected', async () => {
    const { port } = await startProxy(configuration([]));
    expect(
      await sendRaw(port, 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n'),
    ).toMatch(/^HTTP\/1.1 405 /);
  });
});

describe('streams', () => {
  test('a slow client slows down the back end: bodies are not buffered', async () => {
    const chunk = Buffer.alloc(64 * 1024);
    let sent = 0;
    const total = 64 * 1024 * 1024;
    const at = await startBackend((_request, response) => {
      const write = (): void => {
        while (sent < total) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', write);
        }
        response.end();
      };
      write();
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    const request = httpRequest({ host: '127.0.0.1', port, agent: false });
    request.end();
    const response = await new Promise<IncomingMessage>(
      (resolve) => void request.once('response', resolve),
    );
    // The client reads nothing: the back end stops once the buffers of three connections are full.
    let before = -1;
    while (sent !== before) {
      before = sent;
      await systemClock.sleep(100);
    }
    expect(sent).toBeLessThan(total / 2);
    let received = 0;
    for await (const part of response) received += (part as Buffer).length;
    expect(received).toBe(total);
  });

  test('a large upload arrives completely', async () => {
    const at = await startBackend((request, response) => {
      let size = 0;
      request.on('data', (part: Buffer) => (size += part.length));
      request.on('end', () => response.end(String(size)));
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    const parts = Readable.from(Array.from({ length: 200 }, () => Buffer.alloc(100_000)));
    expect((await send(port, { method: 'PUT' }, parts)).body).toBe('20000000');
  });

  test('a disconnected client ends the request at the back end', async () => {
    let closed!: () => void;
    const whenClosed = new Promise<void>((resolve) => (closed = resolve));
    const at = await startBackend((_request, response) => {
      response.write('first');
      response.on('close', () => closed());
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    const request = httpRequest({ host: '127.0.0.1', port, agent: false });
    request.on('error', () => undefined);
    request.end();
    request.on('response', (response) => {
      response.on('error', () => undefined);
      response.once('data', () => request.destroy());
    });
    await whenClosed;
  });

  test('an aborted response is aborted for the client', async () => {
    const at = await startBackend((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setImmediate(() => response.socket?.destroy());
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    await expect(send(port)).rejects.toThrow(/aborted|ECONNRESET|hang up/);
  });

  test('a new configuration affects no request in flight, and applies to the next request', async () => {
    const { promise: started, resolve: start } = withResolvers<() => void>();
    const old = await startBackend((_request, response) => {
      response.write('old');
      start(() => response.end(' end'));
    });
    const next = await startBackend((_request, response) => response.end('new'));
    const { proxy, port } = await startProxy(
      configuration([listener([rule(action(backend([old])))])]),
    );
    const slow = send(port);
    const finish = await started;
    await proxy.apply(configuration([listener([rule(action(backend([next])))])]));
    expect((await send(port)).body).toBe('new');
    finish();
    expect((await slow).body).toBe('old end');
  });

  test('a removed server finishes its requests first', async () => {
    const { promise: started, resolve: start } = withResolvers<() => void>();
    const at = await startBackend((_request, response) => {
      response.write('a');
      start(() => response.end('b'));
    });
    const { proxy, port } = await startProxy(
      configuration([listener([rule(action(backend([at])))])]),
      {
        drainMs: 10_000,
      },
    );
    const slow = send(port);
    const finish = await started;
    await proxy.apply({ servers: [] });
    await expect(send(port)).rejects.toThrow('ECONNREFUSED');
    finish();
    expect((await slow).body).toBe('ab');
  });
});

describe('timeouts and filters', () => {
  test('a request and an attempt that take too long are answered with 504', async () => {
    const at = await startBackend(() => undefined);
    const { port } = await startProxy(
      configuration([
        listener([
          rule(action(backend([at]), { requestTimeoutMs: 30 }), '/request'),
          rule(action(backend([at]), { backendTimeoutMs: 30 }), '/attempt'),
        ]),
      ]),
    );
    expect((await send(port, { path: '/request' })).status).toBe(504);
    expect((await send(port, { path: '/attempt' })).status).toBe(504);
  });

  test('a redirect changes the configured parts, and takes the others from the request', async () => {
    const redirect = {
      scheme: 'https',
      status: 308,
      path: { type: 'ReplacePrefixMatch', value: '/new' },
    } as const;
    const { port } = await startProxy(
      configuration([listener([rule(action(500, { redirect }), '/old')])]),
    );
    const answer = await send(port, { path: '/old/a?b=c', headers: { host: 'web.example:1234' } });
    expect(answer).toMatchObject({
      status: 308,
      headers: { location: 'https://web.example/new/a?b=c' },
    });
  });

  test('headers and paths are changed', async () => {
    const at = await startBackend((request, response) => {
      response.setHeader('server', 'hidden');
      echo(request, response);
    });
    const changed = action(backend([at]), {
      requestHeaders: { set: [['X-Set', 'new']], add: [['X-Add', 'b']], remove: ['x-remove'] },
      responseHeaders: { set: [], add: [['x-more', '1']], remove: ['server'] },
      rewrite: { hostname: 'inner.example', path: { type: 'ReplacePrefixMatch', value: '/' } },
    });
    const { port } = await startProxy(configuration([listener([rule(changed, '/api')])]));
    const headers = { 'x-set': 'old', 'x-add': 'a', 'x-remove': 'c' };
    const answer = await send(port, { path: '/api/v1?x', headers });
    expect(answer.headers['server']).toBeUndefined();
    expect(answer.headers['x-more']).toBe('1');
    const seen = JSON.parse(answer.body) as { url: string; headers: Record<string, string> };
    expect(seen.url).toBe('/v1?x');
    expect(seen.headers).toMatchObject({ host: 'inner.example', 'x-set': 'new', 'x-add': 'a,b' });
    expect(seen.headers['x-remove']).toBeUndefined();
  });

  test('a mirror gets a copy, and its response has no effect', async () => {
    let copied!: (body: string) => void;
    const copy = new Promise<string>((resolve) => (copied = resolve));
    const mirror = await startBackend((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        copied(body);
        response.socket?.destroy();
      });
    });
    const at = await startBackend((request, response) => void request.pipe(response));
    const mirrors = [
      { backend: { ...backend([mirror]), key: 'mirror' }, numerator: 100, denominator: 100 },
    ];
    const { port } = await startProxy(
      configuration([listener([rule(action(backend([at]), { mirrors }))])]),
    );
    expect(await send(port, { method: 'POST' }, 'both')).toMatchObject({
      status: 200,
      body: 'both',
    });
    expect(await copy).toBe('both');
  });

  test('weights are kept exactly', async () => {
    const counts = [0, 0, 0];
    const backends = await Promise.all(
      [7, 3, 0].map(async (weight, index) => {
        const at = await startBackend((_request, response) => {
          counts[index] = (counts[index] as number) + 1;
          response.end();
        });
        return { weight, target: { ...backend([at]), key: String(index) } };
      }),
    );
    const { port } = await startProxy(
      configuration([listener([rule({ route: '', mirrors: [], backends })])]),
    );
    for (let i = 0; i < 20; i++) await send(port);
    expect(counts).toEqual([14, 6, 0]);
  });
});

describe('upgrades', () => {
  async function startWebSockets(): Promise<Endpoint> {
    const { server, ...at } = await startBackend(echo);
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (socket, request) => {
      socket.send(`${request.url} ${String(request.headers['x-forwarded-for'])}`);
      socket.on('message', (data) => socket.send(`echo ${(data as Buffer).toString()}`));
    });
    return at;
  }

  test('a WebSocket passes in both directions, and outlives a configuration', async () => {
    const at = await startWebSockets();
    const { proxy, port } = await startProxy(
      configuration([listener([rule(action(backend([at])))])]),
    );
    const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`);
    const messages: string[] = [];
    let arrived: () => void = () => undefined;
    socket.on('message', (data) => {
      messages.push((data as Buffer).toString());
      arrived();
    });
    const count = async (wanted: number): Promise<void> => {
      while (messages.length < wanted) await new Promise<void>((resolve) => (arrived = resolve));
    };
    await count(1);
    await proxy.apply(configuration([]));
    socket.send('hello');
    await count(2);
    expect(messages).toEqual(['/chat 127.0.0.1', 'echo hello']);
    socket.close();
    await new Promise((resolve) => void socket.once('close', resolve));
  });

  test('a back end that does not switch protocols, and a missing route, get ordinary responses', async () => {
    const at = await startBackend((_request, response) => response.writeHead(403).end('no'));
    const { port } = await startProxy(
      configuration([listener([rule(action(backend([at])), '/ws')])]),
    );
    const text = (path: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n`;
    expect(await sendRaw(port, text('/ws'))).toMatch(/^HTTP\/1.1 403 [^]*no/);
    expect(await sendRaw(port, text('/other'))).toMatch(/^HTTP\/1.1 404 /);
  });

  test('timeouts and filters of the rule apply to upgrades, too', async () => {
    const silent = createTcpServer((socket) => cleanup.push(() => socket.destroy()));
    cleanup.push(() => silent.close());
    const stalled = await listen(silent);
    const refusing = await startBackend((_request, response) =>
      response.writeHead(403, { server: 'secret' }).end('no'),
    );
    const { port } = await startProxy(
      configuration([
        listener([
          rule(action(backend([stalled]), { backendTimeoutMs: 30 }), '/stalled'),
          rule(
            action(backend([refusing]), {
              responseHeaders: { set: [], add: [['x-more', '1']], remove: ['server'] },
            }),
            '/filtered',
          ),
        ]),
      ]),
    );
    const text = (path: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n`;
    expect(await sendRaw(port, text('/stalled'))).toMatch(/^HTTP\/1.1 504 /);
    const filtered = await sendRaw(port, text('/filtered'));
    expect(filtered).toMatch(/^HTTP\/1.1 403 [^]*x-more: 1/);
    expect(filtered).not.toContain('secret');
  });

  test('an offer of HTTP/2 is ignored', async () => {
    const at = await startBackend((_request, response) => response.end('plain'));
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    const text =
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n' +
      'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n';
    expect(await sendRaw(port, text)).toMatch(/^HTTP\/1.1 200 [^]*plain/);
  });
});

describe('HTTP/2', () => {
  interface Answer2 {
    readonly status: number;
    readonly body: string;
    readonly headers: Record<string, unknown>;
  }

  function get(
    session: ClientHttp2Session,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<Answer2> {
    return new Promise((resolve, reject) => {
      const stream = session.request(
        { ':path': '/', ...headers },
        { endStream: body === undefined },
      );
      let text = '';
      let seen: Record<string, unknown> = {};
      stream.on('response', (received) => (seen = received));
      stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
      stream.on('end', () =>
        resolve({ status: seen[':status'] as number, body: text, headers: seen }),
      );
      stream.on('error', reject);
      if (body !== undefined) stream.end(body);
    });
  }

  test('without TLS, on the same port as HTTP/1.1', async () => {
    const at = await startBackend((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () =>
        response.end(JSON.stringify({ ...request.headers, method: request.method, body })),
      );
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    cleanup.push(() => session.destroy());
    const answers = await Promise.all([
      get(session, { ':authority': 'a.example', cookie: 'a=1; b=2' }),
      get(session, { ':method': 'POST', ':authority': 'a.example' }, 'payload'),
    ]);
    expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({
      host: 'a.example',
      cookie: 'a=1; b=2',
      method: 'GET',
      body: '',
    });
    expect(JSON.parse(answers[1]?.body ?? '')).toMatchObject({ method: 'POST', body: 'payload' });
    expect((await send(port)).status).toBe(200);
  });

  test('requests that HTTP/1.1 cannot express are rejected', async () => {
    let seen = 0;
    const at = await startBackend((_request, response) => {
      seen++;
      response.end();
    });
    const { port } = await startProxy(configuration([listener([rule(action(backend([at])))])]));
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    cleanup.push(() => session.destroy());
    const malformed: Record<string, string>[] = [
      { ':path': '/a b' },
      { ':path': 'a' },
      { ':authority': 'a b' },
      { ':authority': 'a/b' },
    ];
    for (const headers of malformed) {
      // The HTTP/2 parser itself rejects some of these.
      const answer = get(session, { ':authority': 'a.example', ...headers }).then(
        ({ status }) => status,
        String,
      );
      expect(await answer).toEqual(
        expect.toSatisfy((each) => each === 400 || /PROTOCOL_ERROR/.test(String(each))),
      );
    }
    expect(seen).toBe(0);
    expect(await get(session, { ':authority': 'a.example', 'x-name': 'é' })).toMatchObject({
      status: 200,
    });
  });

  test('with TLS: certificate by SNI, ALPN, and 421 for a host of another listener', async () => {
    const at = await startBackend((_request, response) => response.end('ok'));
    const [a, b] = [await certificate('a.example'), await certificate('*.b.example')];
    const rules = [rule(action(backend([at])))];
    const listeners = [
      listener(rules, { hostname: 'a.example', certificates: [a] }),
      listener(rules, { hostname: '*.b.example', certificates: [b] }),
    ];
    const { proxy, port } = await startProxy(configuration(listeners, true));
    const session = connectHttp2(`https://127.0.0.1:${port}`, {
      servername: 'a.example',
      ca: a.cert,
    });
    cleanup.push(() => session.destroy());
    expect(await get(session, { ':authority': 'a.example' })).toMatchObject({
      status: 200,
      body: 'ok',
    });
    expect(await get(session, { ':authority': 'x.b.example' })).toMatchObject({ status: 421 });
    const handshake = (servername: string, ca: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connectTls(
          { host: '127.0.0.1', port, servername, ca, ALPNProtocols: ['http/1.1'] },
          () => {
            resolve(String(socket.alpnProtocol));
            socket.destroy();
          },
        );
        socket.on('error', reject);
      });
    expect(await handshake('x.b.example', b.cert)).toBe('http/1.1');
    await expect(handshake('c.example', a.cert)).rejects.toThrow();
    // The next handshake uses another certificate; the session stays.
    const renewed = { ...(await certificate('a.example')), id: 'renewed' };
    await proxy.apply(
      configuration([listener(rules, { hostname: 'a.example', certificates: [renewed] })], true),
    );
    await expect(handshake('a.example', a.cert)).rejects.toThrow();
    expect(await handshake('a.example', renewed.cert)).toBe('http/1.1');
    expect(await get(session, { ':authority': 'a.example' })).toMatchObject({ status: 200 });
  });

  test('an HTTP/2 back end that rejects a stream is retried', async () => {
    let refused = 0;
    const server = createHttp2Server();
    server.on('stream', (stream) => {
      stream.on('error', () => undefined);
      if (refused++ === 0) return stream.close(7);
      stream.respond({ ':status': 200 });
      stream.end('second');
      return undefined;
    });
    const at = await listen(server);
    cleanup.push(() => server.close());
    const { port } = await startProxy(
      configuration([listener([rule(action(backend([at], 'h2c')))])]),
    );
    expect(await send(port)).toMatchObject({ status: 200, body: 'second' });
  });
});

describe('gRPC', () => {
  const raw = {
    requestSerialize: (b: Buffer) => b,
    requestDeserialize: (b: Buffer) => b,
    responseSerialize: (b: Buffer) => b,
    responseDeserialize: (b: Buffer) => b,
  };
  const definition = {
    unary: { path: '/test.Echo/Unary', requestStream: false, responseStream: false, ...raw },
    stream: { path: '/test.Echo/Stream', requestStream: true, responseStream: true, ...raw },
    fail: { path: '/test.Echo/Fail', requestStream: false, responseStream: false, ...raw },
  };
  const Client = grpc.makeGenericClientConstructor(definition, 'Echo');

  async function start(): Promise<{ client: InstanceType<typeof Client>; port: number }> {
    const server = new grpc.Server();
    server.addService(definition, {
      unary: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) =>
        done(null, call.request),
      stream: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
        call.on('data', (message: Buffer) => call.write(message));
        call.on('end', () => call.end());
      },
      fail: (_call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) =>
        done({ code: grpc.status.FAILED_PRECONDITION, details: 'not now' }),
    });
    const backPort = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (err, bound) =>
        err ? reject(err) : resolve(bound),
      ),
    );
    cleanup.push(() => server.forceShutdown());
    const at = { ip: '127.0.0.1', port: backPort };
    const { port } = await startProxy(
      configuration([listener([rule(action(backend([at], 'h2c')), '/test.Echo')])]),
    );
    const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
    cleanup.push(() => client.close());
    return { client, port };
  }

  const call = (client: InstanceType<typeof Client>, path: string): Promise<string> =>
    new Promise((resolve) => {
      client.makeUnaryRequest(
        path,
        raw.requestSerialize,
        raw.responseDeserialize,
        Buffer.from('hello'),
        (err, value) =>
          resolve(err === null ? (value as Buffer).toString() : `${err.code} ${err.details}`),
      );
    });

  test('calls, errors in trailers, and requests without a route', async () => {
    const { client } = await start();
    expect(await call(client, '/test.Echo/Unary')).toBe('hello');
    expect(await call(client, '/test.Echo/Fail')).toBe('9 not now');
    expect(await call(client, '/other.Service/Call')).toBe('12 no route');
  });

  test('a stream in both directions', async () => {
    const { client } = await start();
    const stream = client.makeBidiStreamRequest(
      '/test.Echo/Stream',
      raw.requestSerialize,
      raw.responseDeserialize,
    );
    const received: string[] = [];
    const ended = new Promise<grpc.StatusObject>((resolve) => void stream.on('status', resolve));
    stream.on('data', (message: Buffer) => {
      received.push(message.toString());
      if (received.length < 3) stream.write(Buffer.from(`m${received.length}`));
      else stream.end();
    });
    stream.write(Buffer.from('m0'));
    expect((await ended).code).toBe(0);
    expect(received).toEqual(['m0', 'm1', 'm2']);
  });
});

test('metrics count requests by code and protocol, and failures by reason', () => {
  const text = metrics.text();
  expect(text).toMatch(/coxswain_ingress_requests_total\{code="200",protocol="HTTP\/1.1"\} \d+/);
  expect(text).toMatch(/coxswain_ingress_requests_total\{code="421",protocol="HTTP\/2"\} 1/);
  expect(text).toMatch(/coxswain_ingress_backend_failures_total\{reason="connect"\} \d+/);
  expect(text).toMatch(/coxswain_ingress_connections \d+/);
});
