// Responses that turn out to be impossible to send, and the order of many requests.

import type { IncomingHttpHeaders } from 'node:http';
import { connect as http2Connect } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import type { ApiResponse } from '../request.ts';
import { makeTestAuthority } from '../testing/certificates.ts';
import { RecordingLogger } from '../testing/server.ts';
import { Listener } from './listener.ts';
import { MAX_PER_TURN } from './turn-gate.ts';

let listener: Listener;
let port: number;
let ca: string;
const logger = new RecordingLogger();
/**
 * The turn of the event loop, while a test counts turns, and the turn in which each request began.
 */
let turn = 0;
const begunIn: number[] = [];
const broken = (): never => {
  throw new Error('it has no form');
};

beforeAll(async () => {
  const authority = await makeTestAuthority();
  ca = authority.cert;
  const answers: Readonly<Record<string, ApiResponse['body']>> = {
    '/object': {
      kind: 'object',
      object: {
        jsonLine: broken,
        protobuf: broken,
        object: broken,
        itemLength: broken,
        copyItem: broken,
      },
    },
    '/stream': {
      kind: 'watch',
      events: Object.assign(
        (async function* () {
          yield await Promise.resolve(broken());
        })(),
        { stop: () => undefined },
      ),
    },
  };
  listener = new Listener({
    handler: (request) => {
      const { path } = request;
      // The connection of an anonymous client would be closed after a response.
      request.user = { name: 'someone', groups: [] };
      if (path === '/counted') begunIn.push(turn);
      return Promise.resolve({ code: 200, body: answers[path] ?? { kind: 'none' } });
    },
    clock: systemClock,
    logger,
    random: systemRandom,
    bindAddress: '127.0.0.1',
    port: 0,
    ...(await authority.server()),
  });
  port = await listener.start();
});
afterAll(async () => {
  const stopped = listener.stop();
  listener.abort(new Error('over'));
  await stopped;
});

test('before it began, over HTTP/1.1: an error response', async () => {
  const [code, body] = await new Promise<[number | undefined, string]>((resolve, reject) => {
    const request = httpsRequest(
      { host: '127.0.0.1', port, ca, path: '/object', agent: false },
      (response) => {
        text(response).then((received) => resolve([response.statusCode, received]), reject);
      },
    );
    request.on('error', reject).end();
  });
  expect(code).toBe(500);
  expect(JSON.parse(body)).toMatchObject({ kind: 'Status', reason: 'InternalError' });
});

test('over HTTP/2: the same, and once it began a stream that ends in an error', async () => {
  const session = http2Connect(`https://127.0.0.1:${port}`, { ca });
  const ask = async (path: string): Promise<[unknown, string]> => {
    const stream = session.request({ ':path': path });
    let code: unknown;
    stream.on('response', (headers) => (code = headers[':status']));
    const received = await text(stream).catch((error: NodeJS.ErrnoException) => String(error.code));
    return [code, received];
  };
  try {
    const [code, body] = await ask('/object');
    expect(code).toBe(500);
    expect(JSON.parse(body)).toMatchObject({ kind: 'Status', code: 500 });
    const [begun, end] = await ask('/stream');
    // Node 22 discards the head that was already queued.
    expect([200, undefined]).toContain(begun);
    expect(end).toBe('ERR_HTTP2_STREAM_ERROR');
  } finally {
    session.destroy();
  }
  expect(logger.errors.length).toBe(3);
});

test('of many concurrent requests a limited number begins in each turn of the event loop', async () => {
  const session = http2Connect(`https://127.0.0.1:${port}`, { ca });
  await new Promise((resolve) => session.once('remoteSettings', resolve));
  let counting = true;
  const count = (): void => {
    turn++;
    if (counting) setImmediate(count);
  };
  count();
  const codes = await Promise.all(
    Array.from(
      { length: 90 },
      () =>
        new Promise((resolve, reject) => {
          const stream = session.request({ ':path': '/counted' });
          stream.once('response', (headers) => resolve(headers[':status']));
          stream.on('error', reject).resume();
        }),
    ),
  );
  counting = false;
  session.close();
  expect(codes).toEqual(Array.from({ length: 90 }, () => 200));
  const inTurn = new Map<number, number>();
  for (const each of begunIn) inTurn.set(each, (inTurn.get(each) ?? 0) + 1);
  expect(Math.max(...inTurn.values())).toBe(MAX_PER_TURN);
});

test('a server that drains serves, and ends connections of HTTP/1.1 with their next response', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = (): Promise<IncomingHttpHeaders> =>
    new Promise((resolve, reject) => {
      const request = httpsRequest(
        { host: '127.0.0.1', port, ca, path: '/none', agent },
        (response) => {
          response.resume();
          response.once('end', () => resolve(response.headers));
        },
      );
      request.once('error', reject);
      request.end();
    });
  const first = await headers();
  expect(first.connection).toBe('keep-alive');
  // Node announces its own limit of an idle connection here.
  expect(first).not.toHaveProperty('keep-alive');
  listener.drain();
  expect([(await headers()).connection, (await headers()).connection]).toEqual(['close', 'close']);
  agent.destroy();
});
