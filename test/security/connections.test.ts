// Connections without credentials, without requests, or with incomplete requests: for each state,
// the time when the API server closes the connection. Times are virtual.

import { once } from 'node:events';
import { connect as http2Connect } from 'node:http2';
import { connect as tcpConnect, type Socket } from 'node:net';
import { connect as tlsConnect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { Listener } from '#apiserver/http/listener.ts';
import { MAX_BODY_BYTES } from '#apiserver/http/body-reader.ts';
import type { ApiRequest, ApiResponse } from '#apiserver/request.ts';
import {
  type Credentials,
  makeTestAuthority,
  type TestAuthority,
} from '#apiserver/testing/certificates.ts';
import { badRequest, StatusError } from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import type { ConnectionState } from '#machinery/serving/index.ts';

const NOW = Date.now();

let authority: TestAuthority;
let admin: Credentials;
let clock: VirtualClock;
let listener: Listener;
let port: number;
let release: (() => void)[];
let answered: string[];
const warnings: string[] = [];
const logger: Logger = {
  error: (message, values) => void warnings.push(`error: ${message} ${String(values?.err)}`),
  warn: (message) => void warnings.push(message),
  info: () => undefined,
  debug: () => undefined,
  with: () => logger,
};
const sockets = new Set<Socket>();

const NONE: ApiResponse['body'] = { kind: 'none' };

async function handle(request: ApiRequest): Promise<ApiResponse> {
  answered.push(request.path);
  if (request.peerCertificate !== undefined)
    request.user = { name: request.peerCertificate.commonName, groups: [] };
  if (request.path === '/wait') await new Promise<void>((resolve) => release.push(resolve));
  if (request.path === '/body' && request.body.kind === 'bytes') {
    try {
      await request.body.read();
    } catch (error) {
      return { code: error instanceof StatusError ? error.code : 500, body: NONE };
    }
  }
  if (request.user === undefined) return { code: 401, body: NONE };
  return { code: request.path === '/bad' ? badRequest('').code : 200, body: NONE };
}

async function start(limits: { readonly maxConnections?: number } = {}): Promise<void> {
  listener = new Listener({
    handler: handle,
    clock,
    logger,
    random: systemRandom,
    limits,
    bindAddress: '127.0.0.1',
    port: 0,
    ...(await authority.server()),
  });
  port = await listener.start();
}

beforeAll(async () => {
  authority = await makeTestAuthority();
  admin = await authority.client('admin', ['system:masters']);
});
beforeEach(async () => {
  clock = new VirtualClock({ start: NOW });
  release = [];
  answered = [];
  warnings.length = 0;
  await start();
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const each of release) each();
  const stopped = listener.stop();
  listener.abort(new Error('over'));
  await stopped;
});

function keep<T extends Socket>(socket: T): T {
  sockets.add(socket);
  socket.on('error', () => undefined);
  socket.once('close', () => sockets.delete(socket));
  return socket;
}

const tcp = async (): Promise<Socket> => {
  const socket = keep(tcpConnect({ port, host: '127.0.0.1', allowHalfOpen: true }));
  await once(socket, 'connect');
  return socket;
};
const tls = async (
  protocol: 'h2' | 'http/1.1',
  credentials: Credentials | undefined = admin,
): Promise<TLSSocket> => {
  // A client that does not end its side when the server does.
  const socket = keep(
    tlsConnect({
      port,
      host: '127.0.0.1',
      ca: authority.cert,
      ...credentials,
      ALPNProtocols: [protocol],
      allowHalfOpen: true,
    } as ConnectionOptions),
  );
  await once(socket, 'secureConnect');
  return socket;
};
const inState = async (state: ConnectionState, count = 1): Promise<void> => {
  await expect
    .poll(() => listener.connections[state], { timeout: 60_000, interval: 2 })
    .toBe(count);
};

/** Sends a request over HTTP/1.1 and waits for a response without a body. */
async function ask(socket: Socket, head = 'GET / HTTP/1.1'): Promise<string> {
  socket.write(`${head}\r\nHost: x\r\n\r\n`);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString().split('\r\n')[0]!;
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
/**
 * HEADERS of stream 1 with :method GET, :path / and :scheme https; neither END_HEADERS nor a
 * CONTINUATION follows.
 */
const HALF_HEADERS = Buffer.from([0, 0, 3, 1, 1, 0, 0, 0, 1, 0x82, 0x84, 0x87]);
/** The beginning of a ClientHello. */
const HALF_HELLO = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]);

interface HalfOpen {
  /** Brings a connection into the state. */
  readonly open: () => Promise<Socket>;
  /** The state from the listener's view. */
  readonly state: ConnectionState;
  /** Seconds until it is closed. */
  readonly seconds: number;
}

const written = async (
  socket: Socket,
  ...chunks: readonly (string | Buffer)[]
): Promise<Socket> => {
  for (const chunk of chunks) socket.write(chunk);
  return socket;
};

const HALF_OPEN: Readonly<Record<string, HalfOpen>> = {
  'TCP without TLS': { open: tcp, state: 'handshake', seconds: 32 },
  'three bytes of a TLS record': {
    open: async () => written(await tcp(), HALF_HELLO.subarray(0, 3)),
    state: 'handshake',
    seconds: 32,
  },
  'half of a ClientHello': {
    open: async () => written(await tcp(), HALF_HELLO),
    state: 'handshake',
    seconds: 32,
  },
  'TLS without a request': { open: () => tls('http/1.1'), state: 'unasked', seconds: 32 },
  'half of a request head': {
    open: async () => written(await tls('http/1.1'), 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '),
    state: 'unasked',
    seconds: 32,
  },
  'HTTP/1.1 after a response': {
    open: async () => {
      const socket = await tls('http/1.1');
      await ask(socket);
      return socket;
    },
    state: 'idle',
    seconds: 90,
  },
  'half of a second request head': {
    open: async () => {
      const socket = await tls('http/1.1');
      await ask(socket);
      return written(socket, 'GET / HTTP/1.1\r\n');
    },
    state: 'idle',
    seconds: 90,
  },
  'half of a body that was not read': {
    open: async () => {
      const socket = await tls('http/1.1');
      await ask(socket, 'POST /bad HTTP/1.1\r\nContent-Length: 10');
      return written(socket, 'half');
    },
    state: 'idle',
    seconds: 90,
  },
  'HTTP/2 without a preface': { open: () => tls('h2'), state: 'unasked', seconds: 32 },
  'half of the preface': {
    open: async () => written(await tls('h2'), PREFACE.subarray(0, 10)),
    state: 'unasked',
    seconds: 32,
  },
  'HTTP/2 with SETTINGS only': {
    open: async () => written(await tls('h2'), PREFACE, SETTINGS),
    state: 'unasked',
    seconds: 32,
  },
  'HEADERS without END_HEADERS': {
    open: async () => written(await tls('h2'), PREFACE, SETTINGS, HALF_HEADERS),
    state: 'unasked',
    seconds: 32,
  },
  'HTTP/2 after a response': {
    open: async () => {
      const socket = await tls('h2');
      const session = http2Connect('https://x', { createConnection: () => socket });
      session.on('error', () => undefined);
      const stream = session.request({ ':path': '/' });
      stream.resume();
      await once(stream, 'close');
      return socket;
    },
    state: 'idle',
    seconds: 90,
  },
  'an HTTP/2 stream whose body never ends, after its response': {
    open: async () => {
      const socket = await tls('h2');
      const session = http2Connect('https://x', { createConnection: () => socket });
      session.on('error', () => undefined);
      const stream = session.request({ ':path': '/bad', ':method': 'POST' });
      stream.on('error', () => undefined).resume();
      stream.write('half');
      await once(stream, 'response');
      return socket;
    },
    state: 'idle',
    seconds: 90,
  },
  'a refused upgrade, with bytes behind it': {
    open: async () => {
      const socket = await tls('http/1.1');
      await ask(socket, 'GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: x');
      return written(socket, 'more than that');
    },
    state: 'closing',
    seconds: 1,
  },
  'what is no HTTP': {
    open: async () => written(await tls('http/1.1'), 'hello\r\n\r\n'),
    state: 'closing',
    seconds: 1,
  },
  'a body that is too large': {
    open: async () => {
      const socket = await tls('http/1.1');
      await ask(socket, `POST /body HTTP/1.1\r\nContent-Length: ${MAX_BODY_BYTES + 1}`);
      return socket;
    },
    state: 'closing',
    seconds: 1,
  },
  'a body of megabytes that was not read': {
    open: async () => {
      const socket = await tls('http/1.1');
      await ask(socket, 'POST /bad HTTP/1.1\r\nContent-Length: 3000000');
      return socket;
    },
    state: 'closing',
    seconds: 1,
  },
};

describe('is closed by the server', () => {
  test.each(Object.entries(HALF_OPEN))('%s', async (_name, { open, state, seconds }) => {
    const socket = await open();
    // A client that does not read would not see the end.
    socket.resume();
    await inState(state);
    if (seconds > 1) {
      await clock.advance((seconds - 2) * 1000);
      await inState(state);
    }
    // The server closes it at first, and destroys it if the client does not close its side.
    await clock.advance(4000);
    await clock.advance(4000);
    const connections = (): number =>
      Object.values(listener.connections).reduce((sum, count) => sum + count);
    await expect.poll(connections, { timeout: 60_000, interval: 2 }).toBe(0);
    expect(warnings).toEqual([]);
  });
});

describe('stays open', () => {
  test('while requests are answered, on both versions', async () => {
    const one = await tls('http/1.1');
    one.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
    const two = await tls('h2');
    const session = http2Connect('https://x', { createConnection: () => two });
    const stream = session.request({ ':path': '/wait' });
    stream.resume();
    await inState('active', 2);
    await clock.advance('1h');
    expect(listener.connections.active).toBe(2);
    const [response, headers] = [once(one, 'data'), once(stream, 'response')];
    for (const each of release) each();
    expect(String(await response)).toContain('200');
    expect((await headers)[0]).toMatchObject({ ':status': 200 });
    session.close();
  });
});

test('over HTTP/2 an unauthenticated client gets one response for each connection', async () => {
  const socket = keep(
    tlsConnect({ port, host: '127.0.0.1', ca: authority.cert, ALPNProtocols: ['h2'] }),
  );
  await once(socket, 'secureConnect');
  const session = http2Connect('https://x', { createConnection: () => socket });
  session.on('error', () => undefined);
  const stream = session.request({ ':path': '/' });
  stream.resume();
  const gone = once(session, 'close');
  expect((await once(stream, 'response'))[0]).toMatchObject({ ':status': 401 });
  await gone;
});

test('an HTTP/2 connection has at most 100 streams', async () => {
  const socket = await tls('h2');
  const session = http2Connect('https://x', { createConnection: () => socket });
  await once(session, 'remoteSettings');
  expect(session.remoteSettings.maxConcurrentStreams).toBe(100);
  session.destroy();
});

test('at the limit, connections that wait make room for new ones, and the log has one line', async () => {
  await listener.stop();
  await start({ maxConnections: 20 });
  const busy = await tls('http/1.1');
  busy.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n');
  await inState('active');
  const waiting = await Promise.all(Array.from({ length: 60 }, tcp));
  for (const socket of waiting) socket.resume();
  const stillOpen = (): number =>
    waiting.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded).length;
  await expect.poll(stillOpen, { timeout: 60_000, interval: 2 }).toBeLessThan(20);
  // A client with a certificate is served nevertheless, and requests in flight continue.
  expect(await ask(await tls('http/1.1'))).toContain('200');
  expect(listener.connections.active).toBe(1);
  expect(warnings).toEqual(['too many connections, closing the oldest ones without a request']);
});

test('a certificate that expires while its connection lasts is not valid any more', async () => {
  for (const protocol of ['http/1.1', 'h2'] as const) {
    const socket = await tls(protocol);
    const session =
      protocol === 'h2' ? http2Connect('https://x', { createConnection: () => socket }) : undefined;
    const code = async (): Promise<string> => {
      if (session === undefined) return ask(socket);
      const stream = session.request({ ':path': '/' });
      stream.resume();
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      return String(headers[':status']);
    };
    expect(await code()).toContain('200');
    // The connection lasts through days of virtual time, like a connection in use.
    const later = NOW + 25 * 3600 * 1000;
    clock.now = () => later;
    expect(await code()).toContain('401');
    clock.now = () => NOW;
  }
});

test('CBC suites are refused, GCM and ChaCha20 are not', async () => {
  const attempt = (ciphers: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = keep(
        tlsConnect({
          port,
          host: '127.0.0.1',
          ca: authority.cert,
          ciphers,
          maxVersion: 'TLSv1.2',
          minVersion: 'TLSv1.2',
        }),
      );
      socket.once('secureConnect', () => resolve(socket.getCipher().name));
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
  expect(await attempt('ECDHE-ECDSA-AES128-SHA')).toMatch(/^ERR_SSL|ECONNRESET/);
  expect(await attempt('ECDHE-ECDSA-AES256-SHA384')).toMatch(/^ERR_SSL|ECONNRESET/);
  expect(await attempt('ECDHE-ECDSA-AES128-GCM-SHA256')).toBe('ECDHE-ECDSA-AES128-GCM-SHA256');
  expect(await attempt('ECDHE-ECDSA-CHACHA20-POLY1305')).toBe('ECDHE-ECDSA-CHACHA20-POLY1305');
});
