import { once } from 'node:events';
import { connect, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acceptStream, closeSession, isClosing } from './http2-close.ts';

let server: Http2Server;
let url: string;
let handle: (stream: ServerHttp2Stream) => void;

beforeEach(async () => {
  server = createServer();
  server.on('stream', (stream) => {
    if (acceptStream(stream)) handle(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

/** Sends a request with a body. Resolves with its status, or with the error. */
function post(session: ReturnType<typeof connect>): Promise<string> {
  return new Promise((resolve) => {
    const stream = session.request({ ':method': 'POST' });
    stream.on('response', (headers) => resolve(String(headers[':status'])));
    stream.on('error', (error) => resolve(error.message));
    stream.on('close', () => resolve('closed'));
    stream.resume();
    stream.end('x'.repeat(1000));
  });
}

test('a closing session finishes its streams, refuses new ones, and ends', async () => {
  const held: ServerHttp2Stream[] = [];
  handle = (stream) => {
    held.push(stream);
    if (stream.session !== undefined) closeSession(stream.session);
  };
  const session = connect(url);
  const ended = once(session, 'close');
  const answers = [post(session), post(session), post(session)];
  await expect.poll(() => held.length).toBe(1);
  const [stream] = held;
  expect(isClosing(stream!.session!)).toBe(true);
  stream!.respond({ ':status': 200 }, { endStream: true });
  const [first, ...others] = await Promise.all(answers);
  expect(first).toBe('200');
  for (const other of others) expect(other).not.toBe('200');
  await ended;
});

test('many sessions are closed by their first request, while others arrive', async () => {
  handle = (stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 401 }, { endStream: true });
    if (stream.session !== undefined) closeSession(stream.session);
  };
  for (let round = 0; round < 50; round++) {
    const session = connect(url);
    session.on('error', () => undefined);
    const ended = once(session, 'close');
    const [first] = await Promise.all(Array.from({ length: 10 }, () => post(session)));
    expect(first).toBe('401');
    await ended;
  }
});
