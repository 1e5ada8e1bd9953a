import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect as http2Connect } from 'node:http2';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { connect as tlsConnect } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';

import { systemClock } from '#machinery/clock.ts';
import {
  type Credentials,
  makeTestAuthority,
  type TestAuthority,
} from '../testing/certificates.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';

const PATH = '/api/v1/namespaces/default/configmaps';

let authority: TestAuthority;
let admin: Credentials;
let t: TestServer;
let port: number;

beforeAll(async () => {
  authority = await makeTestAuthority();
  admin = await authority.client('admin', ['system:masters', 'dev']);
  t = await startTestServer({
    clock: systemClock,
    tls: await authority.server(),
    tokens: new Map([['sekret', { name: 'system:kube-scheduler', groups: [] }]]),
    shutdownTimeoutMs: 2000,
  });
  ({ port } = await t.server.listen());
});
afterEach(() => {
  expect(t.logger.errors).toEqual([]);
});
afterAll(async () => {
  await t.stop();
});

interface Answer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly as?: Credentials | null;
  readonly agent?: Agent;
}

function h1(call: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = {
      host: '127.0.0.1',
      port,
      ca: authority.cert,
      path: call.path,
      method: call.method ?? 'GET',
      headers: call.headers ?? {},
      agent: call.agent ?? false,
      ...(call.as === null ? {} : (call.as ?? admin)),
    };
    const request = httpsRequest(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          code: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(call.body);
  });
}

function session(credentials: Credentials | null = admin): ClientHttp2Session {
  return http2Connect(`https://127.0.0.1:${port}`, { ca: authority.cert, ...credentials });
}

function h2(connection: ClientHttp2Session, call: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = connection.request(
      { ':path': call.path, ':method': call.method ?? 'GET', ...call.headers },
      { endStream: call.body === undefined },
    );
    let headers: Answer['headers'] = {};
    const chunks: Buffer[] = [];
    stream.on('response', (received) => {
      headers = received;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () =>
      resolve({
        code: Number(headers[':status']),
        headers,
        text: Buffer.concat(chunks).toString(),
      }),
    );
    stream.on('error', reject);
    if (call.body !== undefined) stream.end(call.body);
  });
}

/** Both versions of HTTP, with the same requests. */
const versions: readonly (readonly [string, (call: Call) => Promise<Answer>])[] = [
  ['HTTP/1.1', h1],
  [
    'HTTP/2',
    async (call) => {
      const connection = session(call.as);
      try {
        return await h2(connection, call);
      } finally {
        connection.close();
      }
    },
  ],
];

describe.each(versions)('over %s', (version, ask) => {
  const name = version.toLowerCase().replace(/[^a-z0-9]/g, '-');

  test('headers separate impersonated groups, commas do not', async () => {
    const { code, text } = await ask({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      headers: {
        'content-type': 'application/json',
        'impersonate-user': 'joe',
        'impersonate-group': ['a,b', 'c'] as unknown as string,
        'impersonate-extra-k1': ['one, two', 'three'] as unknown as string,
      },
      body: '{}',
    });
    expect(code).toBe(201);
    expect(JSON.parse(text)).toMatchObject({
      status: {
        userInfo: {
          groups: ['a,b', 'c', 'system:authenticated'],
          extra: { k1: ['one, two', 'three'] },
        },
      },
    });
  });

  test('creates, reads, lists and deletes', async () => {
    const body = JSON.stringify({ metadata: { name }, data: { k: 'ü' } });
    const created = await ask({
      method: 'POST',
      path: PATH,
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(created.code).toBe(201);
    expect(created.headers['content-type']).toBe('application/json');
    const got = await ask({ path: `${PATH}/${name}` });
    expect(JSON.parse(got.text)).toEqual(JSON.parse(created.text));
    expect(Number(got.headers['content-length'])).toBe(Buffer.byteLength(got.text));
    expect(JSON.parse((await ask({ path: PATH })).text)).toMatchObject({ kind: 'ConfigMapList' });
    expect((await ask({ method: 'DELETE', path: `${PATH}/${name}` })).code).toBe(200);
    expect((await ask({ path: `${PATH}/${name}` })).code).toBe(404);
  });

  test('responds to HEAD without a body', async () => {
    const { code, text, headers } = await ask({ method: 'HEAD', path: '/apis' });
    expect(code).toBe(200);
    expect(text).toBe('');
    expect(Number(headers['content-length'])).toBeGreaterThan(10);
  });

  test('authenticates by certificate and by token; anonymous requests only for health', async () => {
    const review = {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: '{}',
    };
    expect(JSON.parse((await ask(review)).text)).toMatchObject({
      status: {
        userInfo: { username: 'admin', groups: ['system:masters', 'dev', 'system:authenticated'] },
      },
    });
    const token = { ...review, as: null, headers: { authorization: 'Bearer sekret' } };
    expect(JSON.parse((await ask(token)).text)).toMatchObject({
      status: { userInfo: { username: 'system:kube-scheduler', groups: ['system:authenticated'] } },
    });
    expect(
      (await ask({ ...review, as: null, headers: { authorization: 'Bearer wrong' } })).code,
    ).toBe(401);
    expect((await ask({ ...review, as: null })).code).toBe(401);
    for (const path of ['/healthz', '/livez', '/readyz', '/version'])
      expect((await ask({ path, as: null })).code).toBe(200);
    // Single checks need a permission.
    expect((await ask({ path: '/readyz/etcd', as: null })).code).toBe(403);
    for (const path of ['/api', '/apis', '/metrics', '/openapi/v2', PATH, '/'])
      expect((await ask({ path, as: null })).code).toBe(401);
    // Wrong credentials are rejected on every path.
    expect(
      (await ask({ path: '/healthz', as: null, headers: { authorization: 'Bearer wrong' } })).code,
    ).toBe(401);
  });

  test('does not trust certificates of another authority', async () => {
    const stranger = await (await makeTestAuthority()).client('admin', ['system:masters']);
    expect((await ask({ path: PATH, as: stranger })).code).toBe(401);
  });

  test('rejects bodies beyond 3 MiB, announced or not', async () => {
    const body = Buffer.alloc(3 * 1024 * 1024 + 1, 0x20);
    const announced = await ask({
      method: 'POST',
      path: PATH,
      headers: { 'content-length': String(body.length) },
      body,
    }).catch((error: Error) => error);
    const streamed = await ask({
      method: 'POST',
      path: PATH,
      headers: { 'content-type': 'application/json' },
      body,
    }).catch((error: Error) => error);
    for (const answer of [announced, streamed]) {
      // A client that still writes when the response arrives may see its connection end instead.
      if (answer instanceof Error) continue;
      expect(answer.code).toBe(413);
      expect(JSON.parse(answer.text)).toMatchObject({
        reason: 'RequestEntityTooLarge',
        message: 'Request entity too large: limit is 3145728',
      });
    }
    expect((await ask({ path: '/readyz' })).code).toBe(200);
  });

  test('accepts long headers and selectors', async () => {
    const length = version === 'HTTP/2' ? 40_000 : 500_000;
    const values = Array.from({ length: Math.min(length, 120_000) / 10 }, (_, i) =>
      `value-${i}`.slice(0, 8),
    ).join(',');
    expect((await ask({ path: `${PATH}?labelSelector=a%20in%20(${values})` })).code).toBe(200);
    const tooLong = await ask({
      path: `${PATH}?labelSelector=a&fieldSelector=${','.repeat(version === 'HTTP/2' ? 0 : 140_000)}`,
    });
    expect(tooLong.code).toBe(version === 'HTTP/2' ? 200 : 400);
    expect((await ask({ path: '/readyz', headers: { 'x-long': 'y'.repeat(length) } })).code).toBe(
      200,
    );
  });

  test('sends lists of megabytes', async () => {
    const text = 'x'.repeat(500_000);
    for (let i = 0; i < 8; i++) {
      const body = JSON.stringify({ metadata: { name: `${name}-long-${i}` }, data: { text } });
      expect(
        (await ask({ method: 'POST', path: '/api/v1/namespaces/kube-public/configmaps', body }))
          .code,
      ).toBe(201);
    }
    const { text: answer } = await ask({ path: '/api/v1/namespaces/kube-public/configmaps' });
    const items = (JSON.parse(answer) as { items: { metadata: { name: string } }[] }).items;
    expect(items.filter((item) => item.metadata.name.startsWith(`${name}-long`))).toHaveLength(8);
    expect(
      (await ask({ method: 'DELETE', path: '/api/v1/namespaces/kube-public/configmaps' })).code,
    ).toBe(200);
  });

  test('sends warnings as headers', async () => {
    const body = JSON.stringify({ metadata: { name: `${name}-w` }, foo: 1, 'bär"': 2 });
    const { headers } = await ask({ method: 'POST', path: `${PATH}?dryRun=All`, body });
    const warning = String(headers['warning']);
    expect(warning).toContain('299 - "unknown field \\"foo\\""');
  });
});

describe('watches', () => {
  test('are sent over HTTP/1.1 at once, line by line', async () => {
    const lines: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const request = httpsRequest(
        {
          host: '127.0.0.1',
          port,
          ca: authority.cert,
          ...admin,
          path: `${PATH}?watch=true&fieldSelector=metadata.name%3Dh1w`,
        },
        (response) => {
          expect(response.headers['content-type']).toBe('application/json');
          void h1({
            method: 'POST',
            path: PATH,
            body: JSON.stringify({ metadata: { name: 'h1w' } }),
          }).then(() => h1({ method: 'DELETE', path: `${PATH}/h1w` }));
          let text = '';
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString();
            const complete = text.split('\n');
            text = complete.pop() ?? '';
            lines.push(...complete);
            if (lines.length === 2) {
              request.destroy();
              resolve();
            }
          });
        },
      );
      request.on('error', (error) => (lines.length === 2 ? undefined : reject(error)));
      request.end();
    });
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
      'ADDED',
      'DELETED',
    ]);
  });

  test('and over HTTP/2; when the client disconnects, the watch ends', async () => {
    const connection = session();
    const stream = connection.request({
      ':path': `${PATH}?watch=true&fieldSelector=metadata.name%3Dh2w`,
    });
    const first = new Promise<string>((resolve) =>
      stream.once('data', (chunk: Buffer) => resolve(chunk.toString())),
    );
    await new Promise((resolve) => stream.once('response', resolve));
    await h2(connection, {
      method: 'POST',
      path: PATH,
      body: JSON.stringify({ metadata: { name: 'h2w' } }),
    });
    expect(JSON.parse(await first)).toMatchObject({
      type: 'ADDED',
      object: { metadata: { name: 'h2w' } },
    });
    stream.close();
    await new Promise((resolve) => stream.once('close', resolve));
    expect((await h2(connection, { path: '/readyz' })).code).toBe(200);
    connection.close();
  });
});

describe('over a WebSocket', () => {
  const open = (path: string, protocols: string[] = []): WebSocket =>
    new WebSocket(`wss://127.0.0.1:${port}${path}`, protocols, { ca: authority.cert, ...admin });

  test('a watch sends a text message for each event, and ends when the client disconnects', async () => {
    const webSocket = open(`${PATH}?watch=true&fieldSelector=metadata.name%3Dws`);
    await once(webSocket, 'open');
    const message = once(webSocket, 'message') as Promise<[Buffer, boolean]>;
    await h1({ method: 'POST', path: PATH, body: JSON.stringify({ metadata: { name: 'ws' } }) });
    const [data, isBinary] = await message;
    expect(isBinary).toBe(false);
    expect(JSON.parse(data.toString())).toMatchObject({
      type: 'ADDED',
      object: { metadata: { name: 'ws' } },
    });
    webSocket.close();
    await once(webSocket, 'close');
    await h1({ method: 'DELETE', path: `${PATH}/ws` });
  });

  test('a watch that ends closes it', async () => {
    const webSocket = open(`${PATH}?watch=true&timeoutSeconds=1`);
    const [code] = (await once(webSocket, 'close')) as [number];
    expect(code).toBe(1000);
  });

  test('errors are ordinary responses', async () => {
    const [, response] = (await once(
      open(`${PATH}?watch=true&resourceVersion=x`),
      'unexpected-response',
    )) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(400);
    response.destroy();
  });

  test('a watch accepts the one subprotocol of the client, but does not choose', async () => {
    const webSocket = open(`${PATH}?watch=true`, ['base64.binary.k8s.io']);
    await once(webSocket, 'open');
    expect(webSocket.protocol).toBe('base64.binary.k8s.io');
    webSocket.close();
    const [, response] = (await once(
      open(`${PATH}?watch=true`, ['one', 'other']),
      'unexpected-response',
    )) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(403);
    response.destroy();
  });

  test('a token may be among the subprotocols, which the response does not repeat', async () => {
    const tokenOf = (token: string): string =>
      `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
    const anonymous = (token: string): WebSocket =>
      new WebSocket(
        `wss://127.0.0.1:${port}/api/v1/pods?watch=true`,
        [tokenOf(token), 'base64.binary.k8s.io'],
        { ca: authority.cert },
      );
    const webSocket = anonymous('sekret');
    await once(webSocket, 'open');
    expect(webSocket.protocol).toBe('base64.binary.k8s.io');
    webSocket.close();
    const [, response] = (await once(anonymous('wrong'), 'unexpected-response')) as [
      unknown,
      IncomingMessage,
    ];
    expect(response.statusCode).toBe(401);
    response.destroy();
  });
});

describe('bad input', () => {
  const raw = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = tlsConnect(
        { host: '127.0.0.1', port, ca: authority.cert, ...admin, ALPNProtocols: ['http/1.1'] },
        () => socket.write(text),
      );
      let answer = '';
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
      socket.on('error', () => resolve(answer));
      socket.on('close', () => resolve(answer));
    });

  test('that is not HTTP gets an error', async () => {
    expect(await raw('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 Bad Request/);
    expect(await raw('GET / HTTP/9.9\r\n\r\n')).toMatch(/^HTTP\/1\.1 (400|505)/);
    // A space before the colon: some servers would read it as the header of a front proxy.
    expect(await raw('GET / HTTP/1.1\r\nHost: x\r\nX-Remote-User : root\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400/,
    );
    expect(await raw(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(1_100_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431/,
    );
    expect(
      await raw(
        'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
      ),
    ).toMatch(/^HTTP\/1\.1 400/);
  });

  test('that is not TLS has no effect', async () => {
    const { connect } = await import('node:net');
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\n\r\n'));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
    });
    expect((await h1({ path: '/readyz' })).code).toBe(200);
  });

  test('bodies that break off have no effect', async () => {
    const socket = tlsConnect({
      host: '127.0.0.1',
      port,
      ca: authority.cert,
      ...admin,
      ALPNProtocols: ['http/1.1'],
    });
    await new Promise<void>((resolve) => socket.once('secureConnect', () => resolve()));
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"a"`);
    socket.destroy();
    expect((await h1({ path: '/readyz' })).code).toBe(200);
  });

  test('upgrades of paths without upgrades get a response', async () => {
    const answer = await raw(
      `GET ${PATH}/none HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ` +
        `websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 404 Not Found/);
    expect(answer).toContain('configmaps \\"none\\" not found');
  });

  test('and upgrades of other requests are ignored', async () => {
    const upgrade =
      'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ' +
      'x\r\nSec-WebSocket-Version: 13\r\n\r\n';
    const list = await raw(`GET ${PATH} HTTP/1.1\r\n${upgrade}`);
    expect(list).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(list).toContain('"kind":"ConfigMapList"');
    expect(list).toMatch(/connection: close/i);
    // The response is larger than a socket accepts at once.
    expect((await raw(`GET /openapi/v2 HTTP/1.1\r\n${upgrade}`)).length).toBeGreaterThan(100_000);
  });

  test('a client that reads many responses slowly may send more requests', async () => {
    const connection = http2Connect(`https://127.0.0.1:${port}`, {
      ca: authority.cert,
      ...admin,
      settings: { initialWindowSize: 0 },
    });
    const streams = Array.from({ length: 90 }, () =>
      connection.request({ ':path': '/openapi/v2' }),
    );
    const codes = await Promise.all(
      streams.map(
        (stream) =>
          new Promise<number>((resolve, reject) => {
            stream.once('response', (headers) => resolve(Number(headers[':status'])));
            stream.once('error', reject);
          }),
      ),
    );
    expect(codes.every((code) => code === 200)).toBe(true);
    connection.destroy();
  });

  test('bodies in pieces, or unread ones, do not block the next request of the connection', async () => {
    const socket = tlsConnect({
      host: '127.0.0.1',
      port,
      ca: authority.cert,
      ...admin,
      ALPNProtocols: ['http/1.1'],
    });
    await once(socket, 'secureConnect');
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    const codes = (): string[] =>
      [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, code]) => code!);
    const responses = async (count: number): Promise<void> => {
      while (codes().length < count) await once(socket, 'data');
    };
    const post = (path: string, length: number): string =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
    const object = JSON.stringify({
      metadata: { name: 'in-pieces' },
      data: { text: 'ä'.repeat(100_000) },
    });
    const bytes = Buffer.from(object);
    socket.write(post(PATH, bytes.length));
    for (let at = 0; at < bytes.length; at += 50_001) {
      await new Promise((resolve) => socket.write(bytes.subarray(at, at + 50_001), resolve));
    }
    await responses(1);
    // The body is larger than the buffer for unread bodies, and no handler reads it, because the
    // path does not exist.
    socket.write(post('/none', 200_000));
    socket.write(Buffer.alloc(200_000, 'x'));
    await responses(2);
    // Two requests at once: the second head arrives with the first body.
    const small = (name: string): string => {
      const text = JSON.stringify({ metadata: { name } });
      return post(PATH, text.length) + text;
    };
    socket.write(small('one') + small('two') + `GET ${PATH}/in-pieces HTTP/1.1\r\nHost: x\r\n\r\n`);
    await responses(5);
    expect(codes()).toEqual(['201', '404', '201', '201', '200']);
    expect(received).toContain('"name":"two"');
    socket.destroy();
  });

  test('keeps a connection for the next request', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; i < 3; i++) expect((await h1({ path: '/readyz', agent })).code).toBe(200);
    agent.destroy();
  });
});

test('rejects a port that is in use, and opens none without a certificate', async () => {
  const other = await startTestServer({
    clock: systemClock,
    tls: await authority.server(),
    port,
    start: false,
  });
  await expect(other.server.listen()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await other.stop();
  const bare = await startTestServer();
  await expect(bare.server.listen()).rejects.toThrow('without a certificate');
  await bare.stop();
});

test('stop ends watches, finishes requests and closes connections', async () => {
  const other = await startTestServer({
    clock: systemClock,
    tls: await authority.server(),
    shutdownTimeoutMs: 2000,
  });
  const { port: otherPort } = await other.server.listen();
  const connection = http2Connect(`https://127.0.0.1:${otherPort}`, {
    ca: authority.cert,
    ...admin,
  });
  const watch = connection.request({ ':path': `${PATH}?watch=true` });
  await new Promise((resolve) => watch.once('response', resolve));
  const ended = new Promise<void>((resolve) => watch.once('close', () => resolve()));
  watch.resume();
  const agent = new Agent({ keepAlive: true });
  await new Promise<void>((resolve, reject) => {
    httpsRequest(
      { host: '127.0.0.1', port: otherPort, ca: authority.cert, ...admin, path: '/readyz', agent },
      (response) => {
        response.resume();
        response.on('end', () => resolve());
      },
    )
      .on('error', reject)
      .end();
  });
  await Promise.all([other.stop(), ended]);
  agent.destroy();
});
