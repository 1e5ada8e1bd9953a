// Bodies of requests through the API server's proxies, over both versions of HTTP: of any size,
// with back-pressure, and no connection to the backend outlives the request. Tests the targets of
// nodes/proxy, and its redirects, too.

import { once } from 'node:events';
import { connect as http2Connect } from 'node:http2';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createTlsNodeConnector } from '#apiserver/node-connector.ts';
import { type Credentials, makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { systemClock } from '#machinery/clock.ts';
import { AddressNotAllowedError, dial } from '#machinery/net/peer/index.ts';

const SIZE = 12 * 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 'x');
const PROXY = '/api/v1/nodes/n1/proxy';

let t: TestServer;
let port: number;
let ca: string;
let admin: Credentials;
let backend: Server;
let backendPort: number;
const open = new Set<Socket>();
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeAll(async () => {
  const authority = await makeTestAuthority();
  ca = authority.cert;
  admin = await authority.client('admin', ['system:masters']);
  backend = createServer((request, response) => answer(request, response));
  backend.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  backendPort = (backend.address() as AddressInfo).port;
  const network = createTlsNodeConnector({ clock: systemClock, pair: () => admin, ca });
  t = await startTestServer({
    clock: systemClock,
    tls: await authority.server(),
    nodeConnector: {
      connect: (node, signal) =>
        node.name === 'n1'
          ? dial({ host: '127.0.0.1', port: backendPort, clock: systemClock, signal })
          : network.connect(node, signal),
    },
  });
  ({ port } = await t.server.listen());
  const node = async (name: string, type: string, address: string): Promise<void> => {
    const status = {
      addresses: [{ type, address }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    };
    const body = { metadata: { name }, status };
    expect((await send(t.server, { method: 'POST', path: '/api/v1/nodes', body })).code).toBe(201);
  };
  await node('n1', 'InternalIP', '10.0.0.1');
  await node('loopback', 'InternalIP', '127.0.0.1');
  await node('loopback-six', 'InternalIP', '0:0:0:0:0:0:0:1');
  await node('mapped', 'InternalIP', '::ffff:127.0.0.1');
  await node('link-local', 'InternalIP', '169.254.169.254');
  await node('unspecified', 'InternalIP', '0.0.0.0');
  await node('multicast', 'InternalIP', 'ff02::1');
  await node('by-name', 'Hostname', 'localhost');
});
afterAll(async () => {
  await t.stop();
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => backend.close(resolve));
  expect(t.logger.errors).toEqual([]);
});

const body = (size: number): Readable => {
  let left = size;
  return new Readable({
    read() {
      if (left <= 0) this.push(null);
      else {
        left -= CHUNK.length;
        this.push(CHUNK);
      }
    },
  });
};

interface Sent {
  readonly code: number;
  readonly text: string;
}

const over: Readonly<
  Record<string, (source: Readable, headers?: Record<string, string>) => Promise<Sent>>
> = {
  'HTTP/1.1': (source, headers = {}) =>
    new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port,
        ca,
        ...admin,
        path: `${PROXY}/upload`,
        method: 'POST',
        headers,
        agent: false,
      };
      const request = httpsRequest(options, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve({ code: response.statusCode ?? 0, text }));
        response.on('error', reject);
      });
      request.on('error', reject);
      source.once('close', () => {
        if (!source.readableEnded) request.destroy(new Error('left'));
      });
      source.pipe(request);
    }),
  'HTTP/2': async (source, headers = {}) => {
    const session = http2Connect(`https://127.0.0.1:${port}`, { ca, ...admin });
    try {
      const stream = session.request({ ...headers, ':path': `${PROXY}/upload`, ':method': 'POST' });
      source.once('close', () => {
        if (!source.readableEnded) stream.destroy(new Error('left'));
      });
      source.pipe(stream);
      let text = '';
      stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const [response] = (await once(stream, 'response')) as [Record<string, unknown>];
      await once(stream, 'end');
      return { code: Number(response[':status']), text };
    } finally {
      session.destroy();
    }
  },
};

describe.each(Object.entries(over))('over %s', (_version, upload) => {
  const noneOpen = async (): Promise<void> => {
    await expect.poll(() => open.size, { timeout: 60_000, interval: 2 }).toBe(0);
  };

  test.each([true, false])('12 MiB arrive, their length announced: %s', async (announced) => {
    answer = (request, response) => {
      let length = 0;
      request.on('data', (chunk: Buffer) => (length += chunk.length));
      request.on('end', () =>
        response.end(`${length} ${request.headers['content-length'] ?? 'chunked'}`),
      );
    };
    const sent = await upload(body(SIZE), announced ? { 'content-length': String(SIZE) } : {});
    expect(sent).toEqual({ code: 200, text: `${SIZE} ${announced ? SIZE : 'chunked'}` });
    await noneOpen();
  });

  test('a client that disconnects in the middle of its body leaves no connection open', async () => {
    const source = new Readable({ read() {} });
    source.push(CHUNK);
    answer = (request) => void request.once('data', () => source.destroy());
    await expect(upload(source)).rejects.toThrow();
    await noneOpen();
  });

  test('for a backend that reads no body, the server does not buffer the whole body', async () => {
    let produced = 0;
    const source = new Readable({
      read() {
        produced += CHUNK.length;
        this.push(CHUNK);
      },
    });
    // The buffers of the connections fill up, and then the transfer stops.
    let unread: IncomingMessage | undefined;
    answer = (request) => {
      unread = request;
      let seen = -1;
      const check = (): void => {
        if (produced === seen) source.destroy();
        else {
          seen = produced;
          setTimeout(check, 200);
        }
      };
      check();
    };
    await expect(upload(source)).rejects.toThrow();
    expect(produced).toBeLessThan(64 * 1024 * 1024);
    // A socket that is not read does not see its end.
    unread?.on('error', () => undefined).resume();
    await noneOpen();
  });
});

describe('nodes/proxy', () => {
  test.each([
    'loopback',
    'loopback-six',
    'mapped',
    'link-local',
    'unspecified',
    'multicast',
    'by-name',
  ])('does not go to the address of the node %s', async (name) => {
    const { code, json } = await send(t.server, { path: `/api/v1/nodes/${name}/proxy/version` });
    expect([code, json.message]).toEqual([400, 'address not allowed']);
  });

  test.each([
    ['/stats', 302, `${PROXY}/stats`],
    ['../x', 302, '../x'],
    ['http://10.0.0.1:PORT/y', 302, `https://api${PROXY}/y`],
    ['https://127.0.0.1:7453/stolen', 502, undefined],
    ['//example.com/', 502, undefined],
    ['/\\example.com', 302, `${PROXY}/\\example.com`],
    ['javascript:alert(1)', 502, undefined],
  ])('lets a node redirect to %s: %i', async (location, code, expected) => {
    answer = (_request, response) =>
      response.writeHead(302, { location: location.replace('PORT', String(port)) }).end();
    const sent = await send(t.server, { path: `${PROXY}/a`, headers: { host: 'api' } });
    expect([sent.code, sent.headers['location']]).toEqual([code, expected]);
  });
});

test.each([
  '127.0.0.1',
  '::1',
  '0:0:0:0:0:0:0:1',
  '::ffff:7f00:1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '0.0.0.0',
  'localhost',
])('a dial to %s is refused where only other machines may be reached', async (host) => {
  await expect(
    dial({ host, port: backendPort, clock: systemClock, globalOnly: true }),
  ).rejects.toBeInstanceOf(AddressNotAllowedError);
});
