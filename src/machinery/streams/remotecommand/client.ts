// The client: runs a command through a server's exec or attach endpoint, over SPDY (container
// runtimes, older servers) or WebSocket (API servers since 1.29), and forwards ports over SPDY.

import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex, Readable, Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { WebSocket } from 'ws';
import { fromStatus, receivedStatus } from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { SpdyConnection, type SpdyStream } from '../spdy/index.ts';
import { decodeOutcome } from './outcome.ts';
import { portForwardProtocol } from './port-forward-server.ts';
import { encodeSize } from './resize.ts';
import { spdyProtocols } from './spdy-server.ts';
import type { RemoteCommandResult, TerminalSize } from './types.ts';
import { channel, channelProtocol, WebSocketChannels } from './websocket-channels.ts';

export interface StreamingTarget {
  /** An http(s) URL whose query names the command. */
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** TLS settings, agent, or `createConnection` for another transport, as in node:http. */
  readonly connection?: Pick<RequestOptions, 'agent' | 'createConnection'> & {
    ca?: string | Buffer;
    cert?: string | Buffer;
    key?: string | Buffer;
    rejectUnauthorized?: boolean;
    servername?: string;
  };
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/**
 * The caller's ends: stdin is read to its end, stdout and stderr are written and ended. Only the
 * given streams are requested.
 */
export interface ClientStreams {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** The sizes of the terminal. */
  readonly resize?: AsyncIterable<TerminalSize>;
  readonly tty?: boolean;
}

/** The number of bytes that are read from a rejection's body. */
const MAX_REFUSAL = 64 * 1024;

async function refusal(body: Readable, code: number): Promise<Error> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk as Buffer);
    if ((size += (chunk as Buffer).length) > MAX_REFUSAL) break;
  }
  const text = Buffer.concat(chunks).toString().trim();
  try {
    const status = receivedStatus(JSON.parse(text), code);
    if (status !== undefined) return fromStatus(status);
  } catch {
    // The body is not a Status: only its text is available.
  }
  return new Error(`unable to upgrade connection (HTTP ${code}): ${text}`);
}

/**
 * Upgrades to SPDY. Resolves with the connection and the protocol inside it. Rejects with the
 * server's error.
 */
async function dialSpdy(
  target: StreamingTarget,
  protocols: readonly string[],
): Promise<{ connection: SpdyConnection; protocol: string }> {
  const url = new URL(target.url);
  target.signal?.throwIfAborted();
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    method: 'POST',
    headers: {
      ...target.headers,
      Connection: 'Upgrade',
      Upgrade: 'SPDY/3.1',
      'X-Stream-Protocol-Version': [...protocols],
      'Content-Length': '0',
    },
    agent: false,
    ...target.connection,
    ...(target.signal && { signal: target.signal }),
  });
  return new Promise((resolve, reject) => {
    request.on('upgrade', (response, socket: Duplex, head: Buffer) => {
      // The connection owns the socket from now on, and the caller handles the signal.
      const protocol = response.headers['x-stream-protocol-version'];
      resolve({
        connection: new SpdyConnection({ socket, head, side: 'client', clock: target.clock }),
        protocol: (Array.isArray(protocol) ? protocol[0] : protocol) ?? 'channel.k8s.io',
      });
    });
    request.on(
      'response',
      (response) => void refusal(response, response.statusCode ?? 0).then(reject, reject),
    );
    request.on('error', reject);
    request.end();
  });
}

async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/**
 * Copies a stream of the server to the caller, and ends it. A caller that stops reading does not
 * affect other streams.
 */
async function copyOut(from: Readable | undefined, to: Writable | undefined): Promise<void> {
  if (from === undefined || to === undefined) return;
  from.pipe(to);
  to.once('error', () => from.resume());
  to.once('close', () => from.resume());
  await finished(from, { writable: false }).catch(() => undefined);
  if (!to.writableEnded) to.end();
  await finished(to, { readable: false }).catch(() => undefined);
}

/** Copies the caller's stdin to the server while the server reads it. */
function copyIn(from: Readable | undefined, to: Writable | undefined): void {
  if (from === undefined || to === undefined) return;
  // Either side may close at any time: the command then sees the end of its input, or has ended
  // itself.
  from.on('error', () => to.end());
  to.on('error', () => from.unpipe(to));
  from.pipe(to);
}

async function copySizes(
  sizes: AsyncIterable<TerminalSize> | undefined,
  to: Writable | undefined,
): Promise<void> {
  if (sizes === undefined || to === undefined) return;
  for await (const size of sizes) {
    if (to.destroyed || to.writableEnded) return;
    to.write(encodeSize(size));
  }
}

/**
 * Runs an operation. The signal, or the end of the connection, ends it by closing the connection.
 */
async function withAbort<T>(
  signal: AbortSignal | undefined,
  hangUp: () => void,
  work: Promise<T>,
): Promise<T> {
  signal?.addEventListener('abort', hangUp, { once: true });
  if (signal?.aborted) hangUp();
  try {
    return await work;
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', hangUp);
  }
}

/**
 * Runs the command that `target.url` names over SPDY/3.1. Resolves with its exit code. Rejects if
 * it could not be run (a StatusError if the server sends one), or with the signal's reason.
 */
export async function execOverSpdy(
  target: StreamingTarget,
  streams: ClientStreams,
): Promise<RemoteCommandResult> {
  const { connection, protocol } = await dialSpdy(target, spdyProtocols);
  const resizes = protocol === 'v4.channel.k8s.io' || protocol === 'v3.channel.k8s.io';
  const run = async (): Promise<RemoteCommandResult> => {
    const open = async (type: string): Promise<SpdyStream> => {
      const stream = await connection.createStream({ streamtype: [type] });
      // The reader or writer of the stream gets the error.
      stream.on('error', () => undefined);
      return stream;
    };
    const error = await open('error');
    // Read from the start: an unread stream would eventually block all the others.
    const outcome = readAll(error);
    const stdin = streams.stdin && (await open('stdin'));
    const stdout = streams.stdout && (await open('stdout'));
    const stderr = streams.stderr && !streams.tty ? await open('stderr') : undefined;
    const resize = streams.tty && resizes ? await open('resize') : undefined;
    copyIn(streams.stdin, stdin);
    // The server ends its half of stdin when it needs no more input.
    stdin?.resume();
    resize?.resume();
    void copySizes(streams.resize, resize).catch(() => undefined);
    const [bytes] = await Promise.all([
      outcome,
      copyOut(stdout, streams.stdout),
      copyOut(stderr, streams.stderr),
    ]);
    if (!stderr) streams.stderr?.end();
    if (stdin) streams.stdin?.unpipe(stdin);
    return decodeOutcome(bytes, protocol === 'v4.channel.k8s.io');
  };
  try {
    return await withAbort(target.signal, () => connection.close(), run());
  } finally {
    connection.close();
  }
}

/**
 * Runs a command over a WebSocket, with `v5.channel.k8s.io` or `v4.channel.k8s.io`, whichever the
 * server supports. The contract is that of `execOverSpdy`.
 */
export async function execOverWebSocket(
  target: StreamingTarget,
  streams: ClientStreams,
): Promise<RemoteCommandResult> {
  const url = new URL(target.url);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  target.signal?.throwIfAborted();
  const webSocket = new WebSocket(url, ['v5.channel.k8s.io', 'v4.channel.k8s.io'], {
    headers: { ...target.headers },
    perMessageDeflate: false,
    ...(target.connection as Record<string, unknown> | undefined),
  });
  const run = async (): Promise<RemoteCommandResult> => {
    const opened = new Promise<void>((resolve, reject) => {
      webSocket.once('open', resolve);
      webSocket.once('error', reject);
      webSocket.once('unexpected-response', (_, response) => {
        void refusal(response, response.statusCode ?? 0).then(reject, reject);
      });
    });
    // Messages right after the handshake arrive before the open event is handled, so the channels
    // exist from the start.
    const channels = new WebSocketChannels(webSocket, {
      base64: false,
      jsonOutcome: true,
      closesChannels: true,
    });
    const outcome = readAll(channels.reader(channel.error));
    const outputs = Promise.all([
      streams.stdout && copyOut(channels.reader(channel.stdout), streams.stdout),
      streams.stderr && !streams.tty && copyOut(channels.reader(channel.stderr), streams.stderr),
    ]);
    await opened;
    const stdin =
      streams.stdin &&
      channels.writer(channel.stdin, channelProtocol(webSocket.protocol).closesChannels);
    const resize = streams.tty ? channels.writer(channel.resize) : undefined;
    resize?.on('error', () => undefined);
    copyIn(streams.stdin, stdin);
    void copySizes(streams.resize, resize).catch(() => undefined);
    const bytes = await outcome;
    await outputs;
    if (streams.tty) streams.stderr?.end();
    if (stdin) streams.stdin?.unpipe(stdin);
    return decodeOutcome(bytes, true);
  };
  try {
    return await withAbort(target.signal, () => webSocket.terminate(), run());
  } finally {
    webSocket.terminate();
  }
}

/** An open port-forward, which carries any number of connections. */
export interface PortForwardClient {
  /**
   * Connects `local` to `port` at the other end. Resolves when the connection is over. Rejects with
   * the server's error.
   */
  forward(port: number, local: Duplex): Promise<void>;
  /** Resolves when the connection to the server is over. */
  readonly closed: Promise<void>;
  close(): void;
}

export async function portForwardOverSpdy(target: StreamingTarget): Promise<PortForwardClient> {
  const { connection } = await dialSpdy(target, [portForwardProtocol]);
  let lastRequest = 0;
  const hangUp = (): void => connection.close();
  target.signal?.addEventListener('abort', hangUp, { once: true });
  void connection.closed.then(() => target.signal?.removeEventListener('abort', hangUp));
  return {
    closed: connection.closed,
    close: hangUp,
    async forward(port, local) {
      const common = { port: [String(port)], requestid: [String(lastRequest++)] };
      const error = await connection.createStream({ streamtype: ['error'], ...common });
      error.on('error', () => undefined);
      error.end();
      const complaint = readAll(error);
      const data = await connection.createStream({ streamtype: ['data'], ...common });
      // Either side may end first. A side that breaks destroys the other.
      const copied = Promise.allSettled([
        pipeline(local, data, { end: true }),
        pipeline(data, local, { end: true }),
      ]);
      const text = (await complaint).toString();
      if (text !== '') {
        data.destroy();
        local.destroy();
        throw new Error(text);
      }
      await copied;
    },
  };
}
