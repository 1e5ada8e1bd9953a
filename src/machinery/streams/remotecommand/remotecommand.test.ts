import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo } from 'node:net';
import { PassThrough, Transform, type Duplex, type Readable } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { badRequest, StatusError } from '#machinery/apierrors.ts';
import { systemClock, VirtualClock, type Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { SpdyConnection, type SpdyStream } from '../spdy/index.ts';
import {
  execOverSpdy,
  execOverWebSocket,
  isStreamingUpgrade,
  portForwardOverSpdy,
  servePortForward,
  serveRemoteCommand,
  type PortForwardHandler,
  type RemoteCommandHandler,
  type StreamOptions,
  type TerminalSize,
} from './index.ts';
import { webSocketTunnel } from './tunnel.ts';

const logger: Logger = { error() {}, warn() {}, info() {}, debug() {}, with: () => logger };

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function listen(
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
): Promise<string> {
  const server: Server = createServer();
  server.on('upgrade', onUpgrade);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const all: StreamOptions = { stdin: true, stdout: true, stderr: true, tty: false };

/** Starts a server that runs `handler`. `done` resolves when it has served the client. */
async function serve(
  handler: RemoteCommandHandler,
  options: StreamOptions = all,
  clock: Clock = systemClock,
): Promise<{ url: string; done: Promise<void> }> {
  let served: () => void;
  const done = new Promise<void>((resolve) => (served = resolve));
  const url = await listen((request, socket, head) => {
    void serveRemoteCommand(request, socket, head, options, handler, { clock, logger }).then(
      served,
    );
  });
  return { url, done };
}

async function text(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(stream, 'end');
  return Buffer.concat(chunks).toString();
}

function input(content: string): PassThrough {
  const stream = new PassThrough();
  stream.end(content);
  return stream;
}

/** Returns stdin in capitals on stdout, writes its length to stderr, and exits with 3. */
const shout: RemoteCommandHandler = async ({ stdin, stdout, stderr }) => {
  const content = await text(stdin!);
  stdout!.write(content.toUpperCase());
  stderr!.write(`${content.length} bytes`);
  return { exitCode: 3 };
};

describe.each([
  ['SPDY', execOverSpdy],
  ['WebSocket', execOverWebSocket],
])('exec over %s', (_, exec) => {
  test('carries all streams and the exit code', async () => {
    const { url, done } = await serve(shout);
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const [result, out, err] = await Promise.all([
      exec({ url, clock: systemClock }, { stdin: input('hello'), stdout, stderr }),
      text(stdout),
      text(stderr),
    ]);
    expect(result).toEqual({ exitCode: 3 });
    expect([out, err]).toEqual(['HELLO', '5 bytes']);
    await done;
  });

  test('carries megabytes both ways without losing the end', async () => {
    const { url } = await serve(
      async ({ stdin, stdout }) => {
        stdin!.pipe(stdout!);
        await once(stdout!, 'finish');
        return { exitCode: 0 };
      },
      { stdin: true, stdout: true, stderr: false, tty: false },
    );
    const data = 'x0123456789'.repeat(300_000);
    const stdout = new PassThrough();
    const [result, out] = await Promise.all([
      exec({ url, clock: systemClock }, { stdin: input(data), stdout }),
      text(stdout),
    ]);
    expect(result.exitCode).toBe(0);
    expect(out.length).toBe(data.length);
    expect(out === data).toBe(true);
  });

  test('carries terminal sizes, and no stderr with a terminal', async () => {
    const seen: TerminalSize[] = [];
    const { url } = await serve(
      async ({ resize, stdout, stderr }) => {
        expect(stderr).toBeUndefined();
        for await (const size of resize!) {
          seen.push(size);
          if (seen.length === 2) break;
        }
        stdout!.end('done');
        return { exitCode: 0 };
      },
      { ...all, tty: true },
    );
    const stdout = new PassThrough();
    async function* sizes(): AsyncGenerator<TerminalSize> {
      yield { width: 80, height: 24 };
      yield { width: 132, height: 50 };
    }
    const stdin = new PassThrough();
    const [out] = await Promise.all([
      text(stdout),
      exec({ url, clock: systemClock }, { stdin, stdout, tty: true, resize: sizes() }),
    ]);
    expect(out).toBe('done');
    expect(seen).toEqual([
      { width: 80, height: 24 },
      { width: 132, height: 50 },
    ]);
  });

  test('a command that could not be run rejects with its status', async () => {
    const { url } = await serve(() => Promise.reject(badRequest('no such container')));
    const failed = exec(
      { url, clock: systemClock },
      { stdin: input(''), stdout: new PassThrough(), stderr: new PassThrough() },
    );
    await expect(failed).rejects.toThrow('no such container');
    await expect(failed).rejects.toBeInstanceOf(StatusError);
  });

  test('any other error is an internal one', async () => {
    const { url } = await serve(() => Promise.reject(new Error('it broke')));
    const failed = exec(
      { url, clock: systemClock },
      { stdin: input(''), stdout: new PassThrough(), stderr: new PassThrough() },
    );
    await expect(failed).rejects.toThrow('Internal error occurred: it broke');
  });

  test('the signal of the handler aborts when the client disconnects', async () => {
    const gone = new AbortController();
    let aborted: () => void;
    const noticed = new Promise<void>((resolve) => (aborted = resolve));
    const { url, done } = await serve(async (streams, signal) => {
      gone.abort(new Error('enough'));
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted();
    });
    const failed = exec(
      { url, clock: systemClock, signal: gone.signal },
      { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
    );
    await expect(failed).rejects.toThrow('enough');
    await noticed;
    await done;
  });

  test('a server that disconnects is an error, not a success', async () => {
    const url = await listen((request, socket, head) => {
      void serveRemoteCommand(request, socket, head, all, async () => void socket.destroy(), {
        clock: systemClock,
        logger,
      });
    });
    const failed = exec(
      { url, clock: systemClock },
      { stdin: input(''), stdout: new PassThrough(), stderr: new PassThrough() },
    );
    await expect(failed).rejects.toThrow();
  });

  test('a rejection carries the message of the server', async () => {
    const { url } = await serve(shout, { stdin: false, stdout: false, stderr: false, tty: false });
    await expect(exec({ url, clock: systemClock }, {})).rejects.toThrow(
      /at least 1 of stdin, stdout, stderr/,
    );
  });
});

describe('SPDY stream protocols', () => {
  /** Connects a client of a single protocol version, written against the wire format. */
  async function dial(
    url: string,
    protocols: string[],
  ): Promise<{ connection: SpdyConnection; protocol: string } | { code: number; body: string }> {
    const request = httpRequest(url, {
      method: 'POST',
      headers: {
        Connection: 'Upgrade',
        Upgrade: 'SPDY/3.1',
        ...(protocols.length > 0 && { 'X-Stream-Protocol-Version': protocols }),
      },
    });
    request.end();
    return new Promise((resolve) => {
      request.on('upgrade', (response, socket: Duplex, head: Buffer) =>
        resolve({
          connection: new SpdyConnection({ socket, head, side: 'client', clock: systemClock }),
          protocol: String(response.headers['x-stream-protocol-version']),
        }),
      );
      request.on(
        'response',
        (response) =>
          void text(response).then((body) => resolve({ code: response.statusCode!, body })),
      );
    });
  }

  async function run(url: string, version: string): Promise<{ out: string; error: string }> {
    const dialled = await dial(url, [version]);
    if (!('connection' in dialled)) throw new Error(dialled.body);
    const { connection, protocol } = dialled;
    expect(protocol).toBe(version);
    const open = (type: string): Promise<SpdyStream> =>
      connection.createStream({ streamType: [type] });
    const [error, stdin, stdout, stderr] = [
      await open('error'),
      await open('stdin'),
      await open('stdout'),
      await open('stderr'),
    ];
    stderr.resume();
    // The command may end before it has read anything.
    stdin.on('error', () => undefined);
    stdin.end('hi');
    const [out, outcome] = await Promise.all([text(stdout), text(error)]);
    return { out, error: outcome };
  }

  test.each(['channel.k8s.io', 'v2.channel.k8s.io', 'v3.channel.k8s.io'])(
    '%s: the result is plain text',
    async (version) => {
      const { url } = await serve(shout);
      expect(await run(url, version)).toEqual({
        out: 'HI',
        error: 'command terminated with non-zero exit code: exit status 3',
      });
    },
  );

  test('v4.channel.k8s.io: the result is a Status', async () => {
    const { url } = await serve(shout);
    const { error } = await run(url, 'v4.channel.k8s.io');
    expect(JSON.parse(error)).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      reason: 'NonZeroExitCode',
      message: 'command terminated with non-zero exit code: exit status 3',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
  });

  test('success is an empty result before v4', async () => {
    const { url } = await serve(async ({ stdin }) => {
      stdin!.resume();
    });
    expect(await run(url, 'v2.channel.k8s.io')).toEqual({ out: '', error: '' });
  });

  test('the first supported protocol of the client is chosen', async () => {
    const { url } = await serve(shout);
    const dialled = await dial(url, [
      'v9.channel.k8s.io',
      'v3.channel.k8s.io',
      'v4.channel.k8s.io',
    ]);
    if (!('connection' in dialled)) throw new Error(dialled.body);
    expect(dialled.protocol).toBe('v3.channel.k8s.io');
    dialled.connection.close();
  });

  test('no common protocol is 403, none at all 400', async () => {
    const { url } = await serve(shout);
    expect(await dial(url, ['v9.channel.k8s.io'])).toMatchObject({
      code: 403,
      body: expect.stringContaining('unable to negotiate protocol') as string,
    });
    expect(await dial(url, [])).toMatchObject({ code: 400 });
  });

  test('a client that does not open its streams is dropped', async () => {
    const clock = new VirtualClock();
    const { url, done } = await serve(shout, all, clock);
    const dialled = await dial(url, ['v4.channel.k8s.io']);
    if (!('connection' in dialled)) throw new Error(dialled.body);
    const stream = await dialled.connection.createStream({ streamType: ['error'] });
    stream.resume();
    await clock.advance('31s');
    await dialled.connection.closed;
    await done;
  });
});

describe('WebSocket channel protocols', () => {
  interface Session {
    protocol: string;
    /** The data received on each channel, joined. */
    received: Map<number, string>;
    code: number;
  }

  async function run(
    url: string,
    protocol: string,
    send: (socket: WebSocket) => void,
  ): Promise<Session> {
    const socket = new WebSocket(url.replace('http', 'ws'), protocol === '' ? [] : [protocol]);
    const base64 = protocol.includes('base64');
    const received = new Map<number, string>();
    socket.on('message', (data, isBinary) => {
      const message = data as Buffer;
      expect(isBinary).toBe(!base64);
      const number = base64 ? Number(message.toString()[0]) : message[0]!;
      const content = base64
        ? Buffer.from(message.toString().slice(1), 'base64').toString()
        : message.subarray(1).toString();
      received.set(number, (received.get(number) ?? '') + content);
    });
    await once(socket, 'open');
    send(socket);
    const [code] = (await once(socket, 'close')) as [number];
    return { protocol: socket.protocol, received, code };
  }

  const greet: RemoteCommandHandler = async ({ stdin, stdout, stderr }) => {
    const [first] = (await once(stdin!, 'data')) as [Buffer];
    stdout!.write(`hello ${first.toString()}`);
    stderr!.write('warning');
    return { exitCode: 0 };
  };

  test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])('%s', async (protocol) => {
    const { url } = await serve(greet);
    const session = await run(url, protocol, (socket) => socket.send(Buffer.from('\0you')));
    expect(session.protocol).toBe(protocol);
    expect(session.code).toBe(1000);
    expect(session.received.get(1)).toBe('hello you');
    expect(session.received.get(2)).toBe('warning');
    expect(JSON.parse(session.received.get(3)!)).toMatchObject({ status: 'Success' });
  });

  test.each(['channel.k8s.io', ''])('%j: success is an empty result', async (protocol) => {
    const { url } = await serve(greet);
    const session = await run(url, protocol, (socket) => socket.send(Buffer.from('\0you')));
    expect(session.protocol).toBe(protocol);
    expect(Object.fromEntries(session.received)).toEqual({ 1: 'hello you', 2: 'warning' });
  });

  test.each(['v4.base64.channel.k8s.io', 'base64.channel.k8s.io'])('%s', async (protocol) => {
    const { url } = await serve(greet);
    const session = await run(url, protocol, (socket) =>
      socket.send(`0${Buffer.from('you').toString('base64')}`),
    );
    expect(session.protocol).toBe(protocol);
    expect(session.received.get(1)).toBe('hello you');
    expect(session.received.has(3)).toBe(protocol.startsWith('v4'));
  });

  test('v5 ends stdin separately', async () => {
    const { url } = await serve(shout);
    const session = await run(url, 'v5.channel.k8s.io', (socket) => {
      socket.send(Buffer.from('\0all there is'));
      socket.send(Buffer.from([255, 0]));
    });
    expect(session.received.get(1)).toBe('ALL THERE IS');
    expect(JSON.parse(session.received.get(3)!)).toMatchObject({ reason: 'NonZeroExitCode' });
  });

  test('a client may send text messages, as the Python client does', async () => {
    const { url } = await serve(greet);
    const session = await run(url, 'v4.channel.k8s.io', (socket) => socket.send('\0you'));
    expect(session.received.get(1)).toBe('hello you');
    expect(JSON.parse(session.received.get(3)!)).toMatchObject({ status: 'Success' });
  });

  test('an unknown protocol is rejected before the upgrade', async () => {
    const { url } = await serve(greet);
    const socket = new WebSocket(url.replace('http', 'ws'), ['v9.channel.k8s.io']);
    const [err] = (await once(socket, 'error')) as [Error];
    expect(err.message).toContain('403');
  });

  test('the client gets an empty message at once', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { url } = await serve(() => held);
    const socket = new WebSocket(url.replace('http', 'ws'), ['v4.channel.k8s.io']);
    const [message] = (await once(socket, 'message')) as [Buffer];
    expect([...message]).toEqual([1]);
    release();
    await once(socket, 'close');
  });
});

test('requests without a streaming upgrade are recognized', () => {
  const headers = (connection: string, upgrade: string): IncomingMessage['headers'] => ({
    connection,
    upgrade,
  });
  expect(isStreamingUpgrade({ headers: headers('Upgrade', 'SPDY/3.1') })).toBe(true);
  expect(isStreamingUpgrade({ headers: headers('keep-alive, Upgrade', 'websocket') })).toBe(true);
  expect(isStreamingUpgrade({ headers: headers('keep-alive', 'websocket') })).toBe(false);
  expect(isStreamingUpgrade({ headers: headers('Upgrade', 'h2c') })).toBe(false);
});

describe('port-forward', () => {
  /**
   * Starts a server for the forwarded ports: it sends every line back with the port's number before
   * it.
   */
  async function backend(): Promise<number> {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => socket.write(`got ${data.toString()}`));
      socket.on('end', () => socket.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(() => server.close());
    return (server.address() as AddressInfo).port;
  }

  const toLocalhost: PortForwardHandler = async (port, stream) => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect').catch(() => {
      throw new Error(`nothing listens on ${port}`);
    });
    socket.pipe(stream).pipe(socket);
    await once(socket, 'close');
  };

  async function serveForward(handler: PortForwardHandler): Promise<string> {
    return listen((request, socket, head) => {
      void servePortForward(request, socket, head, handler, { clock: systemClock, logger });
    });
  }

  /** Returns a local connection and a function that returns the data it has received. */
  function local(): {
    near: Duplex;
    received: () => string;
    send: (data: string) => void;
    end: () => void;
  } {
    const [a, b] = [new PassThrough(), new PassThrough()];
    let got = '';
    b.on('data', (chunk: Buffer) => (got += chunk.toString()));
    const near = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        b.write(chunk);
        done();
      },
      flush: (done) => done(),
    });
    a.on('data', (chunk: Buffer) => near.push(chunk));
    a.on('end', () => near.push(null));
    return { near, received: () => got, send: (data) => a.write(data), end: () => a.end() };
  }

  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve));
  }

  test('several connections to several ports over one upgrade', async () => {
    const ports = await Promise.all([backend(), backend()]);
    const client = await portForwardOverSpdy({
      url: await serveForward(toLocalhost),
      clock: systemClock,
    });
    const connections = [ports[0], ports[1], ports[0]].map((port, i) => {
      const side = local();
      side.send(`hello ${i}`);
      return { side, over: client.forward(port, side.near) };
    });
    await until(() => connections.every(({ side }, i) => side.received() === `got hello ${i}`));
    for (const { side } of connections) side.end();
    await Promise.all(connections.map(({ over }) => over));
    client.close();
    await client.closed;
  });

  test('a closed port is reported, and other connections continue', async () => {
    const port = await backend();
    const client = await portForwardOverSpdy({
      url: await serveForward(toLocalhost),
      clock: systemClock,
    });
    await expect(client.forward(1, local().near)).rejects.toThrow('nothing listens on 1');
    const side = local();
    side.send('still here');
    const over = client.forward(port, side.near);
    await until(() => side.received() !== '');
    side.end();
    await over;
    client.close();
  });

  describe.each(['v4.channel.k8s.io', 'v4.base64.channel.k8s.io'])(
    'on the channels of %s',
    (protocol) => {
      /** Connects a client without SPDY. `received` returns the data of a channel. */
      async function channelsTo(ports: readonly number[]): Promise<{
        socket: WebSocket;
        received: (channel: number) => Buffer;
        send: (channel: number, text: string) => void;
      }> {
        const url = await serveForward(toLocalhost);
        const query = ports.map((port) => `port=${port}`).join('&');
        const socket = new WebSocket(`${url.replace('http', 'ws')}?${query}`, protocol);
        const base64 = protocol.includes('base64');
        const got = new Map<number, Buffer>();
        const received = (channel: number): Buffer => got.get(channel) ?? Buffer.alloc(0);
        socket.on('message', (message: Buffer) => {
          const channel = base64 ? message[0]! - 0x30 : message[0]!;
          const rest = base64
            ? Buffer.from(message.toString('latin1').slice(1), 'base64')
            : message.subarray(1);
          got.set(channel, Buffer.concat([received(channel), rest]));
        });
        const send = (channel: number, text: string): void =>
          base64
            ? socket.send(
                String.fromCharCode(0x30 + channel) + Buffer.from(text).toString('base64'),
              )
            : socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]));
        await once(socket, 'open');
        return { socket, received, send };
      }

      test('each port of the query gets a connection, whose first message is the port', async () => {
        const ports = await Promise.all(Array.from({ length: 7 }, backend));
        const { socket, received, send } = await channelsTo(ports);
        for (const [i, port] of ports.entries()) {
          send(2 * i, `to ${i}`);
          await until(
            () => received(2 * i).includes(`got to ${i}`) && received(2 * i + 1).length === 2,
          );
          expect(received(2 * i).readUInt16LE()).toBe(port);
          expect(received(2 * i + 1).readUInt16LE()).toBe(port);
          expect(received(2 * i).toString('latin1', 2)).toBe(`got to ${i}`);
        }
        socket.close();
        await once(socket, 'close');
      });

      test('a closed port is reported; the WebSocket closes with its last connection', async () => {
        const { socket, received } = await channelsTo([1]);
        await once(socket, 'close');
        expect(received(1).toString('latin1', 2)).toBe('nothing listens on 1');
      });
    },
  );

  test('missing or invalid ports are rejected before the upgrade', async () => {
    const url = (await serveForward(toLocalhost)).replace('http', 'ws');
    for (const query of ['', '?port=', '?port=0', '?port=65536', '?port=80,x']) {
      const socket = new WebSocket(`${url}${query}`, 'v4.channel.k8s.io');
      const [error] = (await once(socket, 'error')) as [Error];
      expect(error.message).toBe('Unexpected server response: 400');
    }
  });

  test('the same inside a WebSocket', async () => {
    const port = await backend();
    const url = await serveForward(toLocalhost);
    const protocol = 'SPDY/3.1+portforward.k8s.io';
    // The client of ws rejects the protocol as well, so it is sent and received beneath it.
    let answered = '';
    const socket = new WebSocket(url.replace('http', 'ws'), [], {
      headers: { 'Sec-WebSocket-Protocol': protocol },
      createConnection: () => {
        const raw = connect(Number(new URL(url).port), '127.0.0.1');
        const push = raw.push.bind(raw);
        raw.push = (chunk: Buffer | null) => {
          if (chunk === null || answered !== '') return push(chunk);
          const head = chunk.toString('latin1');
          answered = /sec-websocket-protocol: (.*)\r\n/i.exec(head)?.[1] ?? 'none';
          return push(Buffer.from(head.replace(/sec-websocket-protocol: .*\r\n/i, ''), 'latin1'));
        };
        return raw;
      },
    });
    await once(socket, 'open');
    expect(answered).toBe(protocol);
    const connection = new SpdyConnection({
      socket: webSocketTunnel(socket),
      side: 'client',
      clock: systemClock,
    });
    const open = (type: string): Promise<SpdyStream> =>
      connection.createStream({ streamType: [type], port: [String(port)], requestID: ['7'] });
    const error = await open('error');
    const data = await open('data');
    error.resume();
    data.write('through the tunnel');
    const [chunk] = (await once(data, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('got through the tunnel');
    data.end();
    await once(data, 'end');
    connection.close();
    await once(socket, 'close');
  });

  test('a WebSocket with another protocol is rejected', async () => {
    const url = await serveForward(toLocalhost);
    const socket = new WebSocket(`${url.replace('http', 'ws')}?port=80`, 'v3.channel.k8s.io');
    const [err] = (await once(socket, 'error')) as [Error];
    expect(err.message).toContain('403');
  });
});
