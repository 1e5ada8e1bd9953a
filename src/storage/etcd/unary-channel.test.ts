import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { type CallError, UnaryChannel } from './unary-channel.ts';

const method = {
  path: '/test.Echo/Say',
  requestStream: false,
  responseStream: false,
  requestSerialize: (text: string) => Buffer.from(text),
  requestDeserialize: (bytes: Buffer) => bytes.toString(),
  responseSerialize: (text: string) => Buffer.from(text),
  responseDeserialize: (bytes: Buffer) => bytes.toString(),
};

let server: Http2Server;
/** Accepts connections and sends nothing. */
const silent = createTcpServer();
let sessions: ServerHttp2Session[];
let channels: UnaryChannel[];
/** The deadline of the last request. */
let timeout: string;
/** Answers a call; the body of the request is complete. */
let answer: (stream: ServerHttp2Stream, request: Buffer) => void;

const framed = (text: string, compressed = 0): Buffer => {
  const frame = Buffer.alloc(5 + Buffer.byteLength(text));
  frame[0] = compressed;
  frame.writeUInt32BE(Buffer.byteLength(text), 1);
  frame.write(text, 5);
  return frame;
};

/** Sends headers, the parts of the body and trailers. */
function reply(
  stream: ServerHttp2Stream,
  parts: readonly Buffer[],
  trailers: Record<string, string> = { 'grpc-status': '0' },
): void {
  stream.respond({ ':status': 200 }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  for (const part of parts) stream.write(part);
  stream.end();
}

beforeEach(async () => {
  sessions = [];
  channels = [];
  server = createServer();
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream, headers) => {
    timeout = String(headers['grpc-timeout']);
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => answer(stream, Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  for (const channel of channels) channel.close();
  for (const session of sessions) session.destroy();
  await new Promise((resolve) => server.close(resolve));
});

function open(): UnaryChannel {
  const { port } = server.address() as AddressInfo;
  const channel = new UnaryChannel({ clock: systemClock, address: `127.0.0.1:${port}` });
  channels.push(channel);
  return channel;
}

const failure = (call: Promise<unknown>): Promise<CallError> =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error as CallError,
  );

describe('UnaryChannel', () => {
  test('sends one framed message with a deadline, and joins the parts of the response', async () => {
    answer = (stream, request) => {
      const whole = framed(
        `${request.subarray(5).toString()} ${request.readUInt32BE(1)} ${timeout}`,
      );
      reply(stream, [whole.subarray(0, 3), whole.subarray(3, 7), whole.subarray(7)]);
    };
    expect(await open().call(method, 'hello', 5000)).toBe('hello 5 5000m');
  });

  test('many calls share one connection', async () => {
    answer = (stream, request) => reply(stream, [framed(request.subarray(5).toString())]);
    const channel = open();
    const texts = Array.from({ length: 200 }, (_, i) => `call ${i}`);
    expect(await Promise.all(texts.map((text) => channel.call(method, text, 5000)))).toEqual(texts);
    expect(sessions.length).toBe(1);
  });

  test('a status is an error with its decoded message, in trailers or without a body', async () => {
    answer = (stream) => {
      const failed = { 'grpc-status': '9', 'grpc-message': '100%25 caf%C3%A9' };
      reply(stream, [], failed);
    };
    const channel = open();
    const error = await failure(channel.call(method, '', 5000));
    expect([error.code, error.details]).toEqual([status.FAILED_PRECONDITION, '100% café']);
    answer = (stream) =>
      stream.respond(
        { ':status': 200, 'grpc-status': '5', 'grpc-message': 'bad % sign' },
        { endStream: true },
      );
    const other = await failure(channel.call(method, '', 5000));
    expect([other.code, other.details]).toEqual([status.NOT_FOUND, 'bad % sign']);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['too little', framed('abc').subarray(0, 6)],
    ['more than one message', Buffer.concat([framed('a'), framed('b')])],
    ['a compressed message', framed('abc', 1)],
  ])('a response with %s is an error', async (_, body) => {
    answer = (stream) => reply(stream, [body]);
    expect((await failure(open().call(method, '', 5000))).code).toBe(status.INTERNAL);
  });

  test('a response without a status is one that did not arrive', async () => {
    answer = (stream) => {
      stream.respond({ ':status': 503 });
      stream.end('busy');
    };
    const error = await failure(open().call(method, '', 5000));
    expect(error.code).toBe(status.UNAVAILABLE);
    expect(error.details).toContain('HTTP status 503');
  });

  test('a call ends at its deadline', async () => {
    const asked = new Promise<void>((resolve) => (answer = () => resolve()));
    const clock = new VirtualClock();
    const { port } = server.address() as AddressInfo;
    const channel = new UnaryChannel({ clock, address: `127.0.0.1:${port}` });
    channels.push(channel);
    const call = failure(channel.call(method, '', 5000));
    await asked;
    await clock.advance(5000);
    expect((await call).code).toBe(status.DEADLINE_EXCEEDED);
  });

  test('a member that does not answer pings fails the calls that wait for it', async () => {
    const accepted: Socket[] = [];
    const connected = new Promise<void>((resolve) => {
      silent.once('connection', (socket) => {
        accepted.push(socket);
        socket.on('error', () => undefined);
        socket.once('data', () => resolve());
      });
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const clock = new VirtualClock();
    const { port } = silent.address() as AddressInfo;
    const channel = new UnaryChannel({ clock, address: `127.0.0.1:${port}` });
    channels.push(channel);
    const call = failure(channel.call(method, '', 60_000));
    await connected;
    await clock.advance(13_000);
    await clock.advance(2000);
    const error = await call;
    expect(error.code).toBe(status.UNAVAILABLE);
    expect(error.details).toContain('does not answer pings');
    for (const socket of accepted) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });

  test('after a lost connection the next call opens another one', async () => {
    answer = () => sessions[0]?.destroy();
    const channel = open();
    expect((await failure(channel.call(method, 'lost', 5000))).code).toBe(status.UNAVAILABLE);
    answer = (stream, request) => reply(stream, [framed(request.subarray(5).toString())]);
    expect(await channel.call(method, 'found', 5000)).toBe('found');
    expect(sessions.length).toBe(2);
  });

  test('a closed channel, and a port at which nothing listens, reject calls', async () => {
    const channel = open();
    channel.close();
    expect((await failure(channel.call(method, '', 5000))).code).toBe(status.UNAVAILABLE);
    const nowhere = new UnaryChannel({ clock: systemClock, address: '127.0.0.1:1' });
    channels.push(nowhere);
    const error = await failure(nowhere.call(method, '', 5000));
    expect(error.details).toContain('ECONNREFUSED');
  });
});
