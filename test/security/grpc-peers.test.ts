// Peers of grpc-js, which connects to etcd and containerd. A peer that resets, closes, stalls or
// sends garbage at every byte of the connection's beginning, and within a response, fails the call
// and raises no uncaught error.

import { Client, credentials } from '@grpc/grpc-js';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** The bytes of a server in a call, captured from a server that responds. */
let recorded: Buffer;
const uncaught: unknown[] = [];
const onUncaught = (error: unknown): void => void uncaught.push(error);

const listen = async (server: {
  listen(port: number, host: string, done: () => void): unknown;
  address(): unknown;
}): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return (server.address() as AddressInfo).port;
};

function call(port: number): Promise<string> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.enable_retries': 0,
    // Each call has a connection of its own.
    'grpc.use_local_subchannel_pool': 1,
  });
  const same = (bytes: Buffer): Buffer => bytes;
  return new Promise((resolve) => {
    const deadline = new Date(Date.now() + 300);
    client.makeUnaryRequest(
      '/x.Y/Z',
      same,
      same,
      Buffer.alloc(0),
      { deadline } as never,
      (error, value) => {
        client.close();
        resolve(error === null ? `answer ${value?.toString()}` : 'error');
      },
    );
  });
}

beforeAll(async () => {
  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onUncaught);
  const backend = createHttp2Server();
  backend.on('stream', (stream) => {
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc' },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.from([0, 0, 0, 0, 2, 0x6f, 0x6b]));
  });
  const port = await listen(backend);
  const chunks: Buffer[] = [];
  const recorder = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1');
    upstream.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
    socket.on('error', () => undefined);
    socket.pipe(upstream).pipe(socket);
  });
  expect(await call(await listen(recorder))).toBe('answer ok');
  recorded = Buffer.concat(chunks);
  recorder.close();
  backend.close();
});
afterAll(() => {
  process.off('uncaughtException', onUncaught);
  process.off('unhandledRejection', onUncaught);
});

const FAILURES: Readonly<Record<string, (socket: Socket) => void>> = {
  resets: (socket) => void socket.resetAndDestroy(),
  closes: (socket) => void socket.end(),
  'sends garbage': (socket) =>
    void socket.end(Buffer.from('\xff\xff\xff\0garbage\r\n\r\n', 'latin1')),
  stalls: () => undefined,
};

test.each(Object.entries(FAILURES))(
  'a peer that %s after every number of bytes',
  async (name, fail) => {
    const open = new Set<Socket>();
    let bytes = 0;
    const server = createServer((socket) => {
      open.add(socket);
      const length = bytes++;
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write(recorded.subarray(0, length), () => fail(socket)));
    });
    const port = await listen(server);
    // A stalled call takes until its deadline, so only some lengths are tried.
    const step = name === 'stalls' ? 16 : 1;
    const calls: Promise<string>[] = [];
    for (let length = 0; length < recorded.length - 1; length += step) calls.push(call(port));
    for (const outcome of await Promise.all(calls))
      expect(['error', 'answer ok']).toContain(outcome);
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    expect(uncaught).toEqual([]);
  },
);
