// The streaming server of CRI: exec, attach and port-forward run over HTTP, at a URL that the method of
// that name has returned.
//
// A URL has a token of 128 random bits, works once, and expires after a minute. The server listens on
// the loopback interface only.

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AttachRequest, ExecRequest, RuntimeService } from '#cri/index.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import {
  isStreamingUpgrade,
  servePortForward,
  serveRemoteCommand,
  type StreamOptions,
} from '#machinery/streams/remotecommand/index.ts';

export interface StreamingServerConfig {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const HOST = '127.0.0.1';
const TOKEN_BYTES = 16;
const TOKEN_MS = 60_000;
const MAX_TOKENS = 1000;

type Session = (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;

export class StreamingServer {
  readonly #config: StreamingServerConfig;
  readonly #sessions = new Map<string, { readonly session: Session; readonly expiry: Timer }>();
  readonly #connections = new Set<Duplex>();
  #server: Promise<Server> | undefined;

  constructor(config: StreamingServerConfig) {
    this.#config = config;
  }

  /** Returns the URL at which the command runs. Rejects if its streams are not possible. */
  exec(containerId: string, request: ExecRequest): Promise<string> {
    const { runtime } = this.#config;
    const options = streamOptions(request);
    if (request.command.length === 0)
      return Promise.reject(new RpcError('INVALID_ARGUMENT', 'cmd is required'));
    return this.#url('exec', (upgrade, socket, head) =>
      serveRemoteCommand(
        upgrade,
        socket,
        head,
        options,
        (streams, signal) => runtime.exec(containerId, request, streams, signal),
        this.#config,
      ),
    );
  }

  attach(containerId: string, request: AttachRequest): Promise<string> {
    const { runtime } = this.#config;
    const options = streamOptions(request);
    return this.#url('attach', (upgrade, socket, head) =>
      serveRemoteCommand(
        upgrade,
        socket,
        head,
        options,
        (streams, signal) => runtime.attach(containerId, request, streams, signal),
        this.#config,
      ),
    );
  }

  portForward(podSandboxId: string): Promise<string> {
    const { runtime } = this.#config;
    return this.#url('portforward', (upgrade, socket, head) =>
      servePortForward(
        upgrade,
        socket,
        head,
        (port, stream, signal) => runtime.portForward(podSandboxId, port, stream, signal),
        this.#config,
      ),
    );
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    for (const { expiry } of this.#sessions.values()) expiry.cancel();
    this.#sessions.clear();
    for (const connection of this.#connections) connection.destroy();
    if (this.#server === undefined) return;
    const server = await this.#server;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  async #url(kind: string, session: Session): Promise<string> {
    if (this.#sessions.size >= MAX_TOKENS)
      throw new RpcError('RESOURCE_EXHAUSTED', 'maximum number of in-flight requests exceeded');
    this.#server ??= this.#listen();
    const { port } = (await this.#server).address() as AddressInfo;
    const { random, clock } = this.#config;
    const path = `/${kind}/${Buffer.from(random.bytes(TOKEN_BYTES)).toString('hex')}`;
    const expiry = clock.setTimer(TOKEN_MS, () => this.#sessions.delete(path));
    this.#sessions.set(path, { session, expiry });
    return `http://${HOST}:${port}${path}`;
  }

  async #listen(): Promise<Server> {
    const server = createServer((_, response) => {
      response.writeHead(400, { 'Content-Type': 'text/plain' }).end('Upgrade request required\n');
    });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
      // A client that resets its connection must not end this process.
      socket.on('error', (error) =>
        this.#config.logger.debug('CRI streaming server: connection failed', { err: error }),
      );
      this.#serve(request, socket, head).catch((error: unknown) => {
        this.#config.logger.warn('CRI streaming server: connection failed', { err: error });
        socket.destroy();
      });
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, HOST, resolve);
    });
    return server;
  }

  async #serve(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const path = request.url?.split('?')[0] ?? '';
    const found = this.#sessions.get(path);
    if (found === undefined || !isStreamingUpgrade(request)) {
      const status = found === undefined ? '404 Not Found' : '400 Bad Request';
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    this.#sessions.delete(path);
    found.expiry.cancel();
    await found.session(request, socket, head);
  }
}

/** Throws if the streams are not possible, with the words of other runtimes. */
function streamOptions(request: AttachRequest): StreamOptions {
  const { tty = false, stdin = false, stdout = false, stderr = false } = request;
  if (tty && stderr) throw new RpcError('INVALID_ARGUMENT', 'tty and stderr cannot both be true');
  if (!stdin && !stdout && !stderr)
    throw new RpcError('INVALID_ARGUMENT', 'one of stdin, stdout, or stderr must be set');
  return { tty, stdin, stdout, stderr };
}
