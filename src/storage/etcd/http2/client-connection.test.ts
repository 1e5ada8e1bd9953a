import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { ClientConnection, type Exchange } from './client-connection.ts';
import { FLAG, FRAME, frame, numberFrame, PREFACE, SETTING, settingsFrame } from './frames.ts';
import { encodeFields } from './hpack.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Answer = (stream: ServerHttp2Stream, body: Buffer) => void;

/** Starts Node's own server, which answers each request when its body is complete. */
async function serve(
  answer: Answer,
  options: ServerOptions = {},
): Promise<{ readonly server: Http2Server; readonly sessions: ServerHttp2Session[] }> {
  const server = createServer(options);
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => {
    session.on('error', () => undefined);
    sessions.push(session);
  });
  server.on('stream', (stream) => {
    const parts: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () => answer(stream, Buffer.concat(parts)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(
    () => new Promise((resolve) => server.close(resolve)),
    () => sessions.forEach((session) => session.destroy()),
  );
  return { server, sessions };
}

interface Client {
  readonly connection: ClientConnection;
  readonly left: Promise<void>;
}

function open(port: number): Client {
  const { promise, resolve } = withResolvers();
  const connection = new ClientConnection({
    socket: connect({ host: '127.0.0.1', port }),
    streamWindow: 1 << 20,
    connectionWindow: 4 << 20,
    onLeave: resolve,
  });
  closing.push(() => connection.destroy(new Error('the test has ended')));
  return { connection, left: promise };
}

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

const block = encodeFields([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'localhost'],
  [':path', '/'],
]);

interface Response {
  readonly fields: Record<string, string>;
  readonly body: Buffer;
}

function send(
  connection: ClientConnection,
  body: Buffer,
  onExchange: (exchange: Exchange) => void = () => undefined,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const fields: Record<string, string> = {};
    const parts: Buffer[] = [];
    const exchange = connection.request(block, body, {
      fields: (given) => {
        for (const [name, value] of given) fields[name] = value;
      },
      data: (part) => parts.push(Buffer.from(part)),
      end: () => resolve({ fields, body: Buffer.concat(parts) }),
      failed: reject,
    });
    onExchange(exchange);
  });
}

/** Answers with the body of the request, and a trailer. */
const echo: Answer = (stream, body) => {
  stream.respond({ ':status': 200, kind: 'echo' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ length: String(body.length) }));
  stream.end(body);
};

describe('with the server of Node', () => {
  test.each([1, 16_384, 16_385, 65_535, 65_536, 1_000_000, 9_000_000])(
    'a body of %i bytes goes there and back',
    async (bytes) => {
      const { server } = await serve(echo);
      const body = Buffer.alloc(bytes, 'abcdefg');
      const response = await send(open(portOf(server)).connection, body);
      expect(response.body.equals(body)).toBe(true);
      expect(response.fields).toMatchObject({
        ':status': '200',
        kind: 'echo',
        length: String(bytes),
      });
    },
  );

  test('many requests of all sizes share the windows of one connection', async () => {
    const { server, sessions } = await serve(echo);
    const { connection } = open(portOf(server));
    const bodies = Array.from({ length: 60 }, (_, i) => Buffer.alloc(1 + i * 3001, `${i} `));
    const responses = await Promise.all(bodies.map((body) => send(connection, body)));
    expect(responses.every(({ body }, i) => body.equals(bodies[i]!))).toBe(true);
    expect(sessions.length).toBe(1);
    expect(connection.pending).toBe(0);
  });

  test('at most as many requests are in flight as the server allows', async () => {
    let [now, most] = [0, 0];
    const { server } = await serve(
      (stream, body) => {
        most = Math.max(most, ++now);
        setImmediate(() => {
          now--;
          echo(stream, body);
        });
      },
      { settings: { maxConcurrentStreams: 3 } },
    );
    const { connection } = open(portOf(server));
    const all = Array.from({ length: 20 }, (_, i) => send(connection, Buffer.from(`${i}`)));
    expect((await Promise.all(all)).map(({ body }) => body.toString())).toEqual(
      all.map((_, i) => `${i}`),
    );
    expect(most).toBeLessThanOrEqual(3);
    expect(most).toBeGreaterThan(0);
  });

  test('a cancelled request is reset, and the others go on', async () => {
    const { promise: reset, resolve } = withResolvers();
    const { promise: arrived, resolve: arrive } = withResolvers();
    const { server } = await serve((stream, body) => {
      if (body.toString() !== 'endless') return echo(stream, body);
      stream.on('close', resolve);
      stream.respond({ ':status': 200 });
      stream.write('a part');
      arrive();
    });
    const { connection } = open(portOf(server));
    let exchange: Exchange | undefined;
    let settled = false;
    void send(connection, Buffer.from('endless'), (made) => (exchange = made)).finally(
      () => (settled = true),
    );
    await arrived;
    connection.cancel(exchange!);
    await reset;
    expect((await send(connection, Buffer.from('other'))).body.toString()).toBe('other');
    expect(settled).toBe(false);
    expect(connection.pending).toBe(0);
  });

  test('a request that is cancelled before it is sent is left out', async () => {
    const seen: string[] = [];
    const { server } = await serve((stream, body) => {
      seen.push(body.toString());
      echo(stream, body);
    });
    const { connection } = open(portOf(server));
    void send(connection, Buffer.from('first'), (exchange) => connection.cancel(exchange));
    await send(connection, Buffer.from('second'));
    expect(seen).toEqual(['second']);
  });

  test('a reset stream fails alone', async () => {
    const { server } = await serve((stream, body) => {
      if (body.toString() === 'bad') stream.close(7);
      else echo(stream, body);
    });
    const { connection } = open(portOf(server));
    const [bad, good] = await Promise.allSettled([
      send(connection, Buffer.from('bad')),
      send(connection, Buffer.from('good')),
    ]);
    expect(bad).toMatchObject({ reason: { message: 'the stream was reset with error 7' } });
    expect(good.status).toBe('fulfilled');
  });

  test('a server that closes finishes what it has, and gets nothing new', async () => {
    const streams: (() => void)[] = [];
    const { promise: arrived, resolve } = withResolvers();
    const { server, sessions } = await serve((stream, body) => {
      streams.push(() => echo(stream, body));
      resolve();
    });
    const { connection, left } = open(portOf(server));
    const response = send(connection, Buffer.from('last'));
    await arrived;
    sessions[0]!.close();
    await left;
    for (const answer of streams) answer();
    expect((await response).body.toString()).toBe('last');
  });

  test('a ping is answered, and a lost connection fails what waits', async () => {
    const { promise: arrived, resolve } = withResolvers();
    const { server, sessions } = await serve(() => resolve());
    const { connection, left } = open(portOf(server));
    await new Promise<void>((answered) => connection.ping(answered));
    const failed = send(connection, Buffer.from('x')).catch((error: unknown) => error);
    await arrived;
    sessions[0]!.destroy();
    expect(await failed).toBeInstanceOf(Error);
    await left;
  });
});

describe('with a server of frames', () => {
  /** Serves one connection by frames. `onRequest`: called with the socket for each first frame. */
  async function frames(answer: (socket: Socket) => void): Promise<ClientConnection> {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      let isFirst = true;
      socket.on('data', () => {
        if (isFirst) answer(socket);
        isFirst = false;
      });
      closing.push(() => socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    return open(portOf(server)).connection;
  }

  const hello = settingsFrame([[SETTING.initialWindowSize, 65_535]]);
  const headers = encodeFields([
    [':status', '200'],
    ['grpc-status', '0'],
  ]);

  test('frames arrive in single bytes, and header blocks in pieces with padding', async () => {
    const padded = Buffer.concat([Buffer.from([3]), Buffer.from('body'), Buffer.alloc(3)]);
    const response = Buffer.concat([
      hello,
      frame(
        FRAME.headers,
        FLAG.priority,
        1,
        Buffer.concat([Buffer.alloc(5), headers.subarray(0, 4)]),
      ),
      frame(FRAME.continuation, 0, 1, headers.subarray(4, 9)),
      frame(FRAME.continuation, FLAG.endHeaders, 1, headers.subarray(9)),
      frame(0x42, 0xff, 1, Buffer.from('an unknown type is ignored')),
      frame(FRAME.data, FLAG.padded | FLAG.endStream, 1, padded),
    ]);
    const connection = await frames((socket) => {
      for (const byte of response) socket.write(Buffer.from([byte]));
    });
    const { fields, body } = await send(connection, Buffer.from('x'));
    expect(fields).toEqual({ ':status': '200', 'grpc-status': '0' });
    expect(body.toString()).toBe('body');
  });

  test('requests that the server has not processed when it closes fail', async () => {
    const goAway = Buffer.alloc(8);
    goAway.writeUInt32BE(1, 0);
    const connection = await frames((socket) => {
      socket.write(hello);
      socket.write(frame(FRAME.goAway, 0, 0, goAway));
      socket.write(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, headers));
    });
    const [first, second] = await Promise.allSettled([
      send(connection, Buffer.from('1')),
      send(connection, Buffer.from('2')),
    ]);
    expect(first.status).toBe('fulfilled');
    expect(second).toMatchObject({
      reason: { message: 'the server closes the connection with error 0' },
    });
  });

  test.each([
    ['a frame that is too long', Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])],
    ['a push', frame(FRAME.pushPromise, 0, 1, Buffer.alloc(4))],
    ['an increment of nothing', numberFrame(FRAME.windowUpdate, 0, 0)],
    ['a window that is too large', numberFrame(FRAME.windowUpdate, 0, 0x7fffffff)],
    ['settings of a wrong length', frame(FRAME.settings, 0, 0, Buffer.alloc(5))],
    ['a reset without a code', frame(FRAME.reset, 0, 1, Buffer.alloc(2))],
    ['a header block that needs a table', frame(FRAME.headers, 4, 1, Buffer.from([0xbe]))],
    ['a continuation of nothing', frame(FRAME.continuation, 4, 1, headers)],
    [
      'a header block that is interrupted',
      Buffer.concat([
        frame(FRAME.headers, 0, 1, headers),
        frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
      ]),
    ],
    [
      'an endless header block',
      Buffer.concat([
        frame(FRAME.headers, 0, 1, headers),
        ...Array.from({ length: 6 }, () => frame(FRAME.continuation, 0, 1, Buffer.alloc(16_384))),
      ]),
    ],
    ['padding that is too long', frame(FRAME.data, FLAG.padded, 1, Buffer.from([9, 1]))],
  ])('%s ends the connection', async (_, bytes) => {
    const connection = await frames((socket) => {
      socket.write(hello);
      socket.once('data', () => socket.write(bytes));
    });
    await expect(send(connection, Buffer.from('x'))).rejects.toThrow('violates HTTP/2');
  });

  test('the requests of one turn are one write', async () => {
    const writes: Buffer[] = [];
    const socket = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _, written) => {
        writes.push(chunk);
        written();
      },
    });
    const connection = new ClientConnection({
      socket,
      streamWindow: 1 << 20,
      connectionWindow: 1 << 20,
      onLeave: () => undefined,
    });
    closing.push(() => connection.destroy(new Error('the test has ended')));
    for (let i = 0; i < 5; i++) void send(connection, Buffer.alloc(100)).catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(writes.length).toBe(1);
    expect(writes[0]!.subarray(0, PREFACE.length)).toEqual(PREFACE);
    // The requests wait for the server's settings, which are acknowledged first.
    socket.push(hello);
    await new Promise((resolve) => setImmediate(resolve));
    expect(writes.length).toBe(2);
    expect(writes[1]!.length).toBe(9 + 5 * (9 + block.length + 9 + 100));
  });
});
