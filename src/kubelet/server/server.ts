// The kubelet's own API: pods, logs, exec, attach, port-forward. Asked by the API server on behalf of its users, over TLS with
// a client certificate, or in-process over any stream.

import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls';
import type { Runtime } from '../../cri/index.ts';
import type { Clock } from '../../machinery/clock.ts';
import type { Logger } from '../../machinery/log.ts';
import {
  closeConnection,
  type ConnectionLimits,
  ConnectionTable,
  peerNotAfter,
  reportRequests,
  TLS_SERVER_OPTIONS,
  track,
} from '../../machinery/serving/index.ts';
import type { RuntimePodStatus } from '../runtime/pod-status.ts';
import type { Pod } from '../types.ts';
import { Routes } from './routes.ts';

/** Who makes a request. */
export interface ServerUser {
  readonly name: string;
  readonly groups: readonly string[];
}

export interface ServerTlsConfig {
  /** PEM. */
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  /** Signs the certificates of those who may ask. */
  readonly clientCA: string | Buffer;
  /** Users who may, beside the group system:masters. Default: the API server's own. */
  readonly allowedUsers?: readonly string[];
}

export interface KubeletServerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly runtime: Runtime;
  readonly podLogsDir: string;
  readonly nodeName: string;
  /** When the kubelet was started, wall-clock milliseconds. */
  readonly startedAt: number;
  /** The pods of this node with their latest status. */
  readonly pods: () => readonly Pod[];
  readonly runtimeStatus: (uid: string) => RuntimePodStatus | undefined;
  /** Removes the directory of a volume of the built-in provisioner, if it is there. Rejects with LocalVolumeError: not now. */
  readonly removeLocalVolume: (name: string) => Promise<void>;
  /** Of connections to the port. Default: see ConnectionTable. */
  readonly connectionLimits?: Partial<ConnectionLimits>;
  /** Absent: no port is opened. */
  readonly listen?: { readonly port: number; readonly host?: string; readonly tls: ServerTlsConfig };
}

const API_SERVER_USERS: readonly string[] = ['kube-apiserver-kubelet-client', 'system:apiserver', 'system:kube-apiserver'];
const MASTERS = 'system:masters';

export class KubeletServer {
  readonly #config: KubeletServerConfig;
  readonly #routes: Routes;
  /** Parses what comes over connections; it never listens itself. */
  readonly #http: Server;
  #tls: TlsServer | undefined;
  readonly #users = new WeakMap<object, ServerUser>();
  /** When the certificates of TLS connections expire, in wall-clock milliseconds. */
  readonly #notAfter = new WeakMap<object, number>();
  readonly #connections = new Set<Duplex>();
  /** Time limits of the connections to the port. */
  readonly #table: ConnectionTable;

  constructor(config: KubeletServerConfig) {
    this.#config = config;
    this.#routes = new Routes(config);
    const { clock, logger, connectionLimits: limits } = config;
    this.#table = new ConnectionTable({ clock, logger, limits });
    this.#http = createHttpServer();
    reportRequests(this.#http);
    this.#http.on('request', (request, response) => this.#onRequest(request, response));
    this.#http.on('upgrade', (request, socket, head) => this.#onUpgrade(request, socket, head));
    // Logs are followed, and sessions last, for as long as somebody looks.
    this.#http.requestTimeout = 0;
    this.#http.timeout = 0;
  }

  /** 0 while none is open. */
  get port(): number {
    return (this.#tls?.address() as AddressInfo | null | undefined)?.port ?? 0;
  }

  /** Opens the port, if one is configured. Rejects if that is not possible. */
  async listen(): Promise<void> {
    const { listen } = this.#config;
    if (listen === undefined) return;
    const { key, cert, clientCA } = listen.tls;
    // Who has no valid certificate is told so in HTTP, not by a broken handshake.
    const server = createTlsServer(
      { key, cert, ca: clientCA, requestCert: true, rejectUnauthorized: false, ...TLS_SERVER_OPTIONS },
      (socket) => {
        track(socket, this.#table.secured(socket));
        const user = userOf(socket);
        if (user !== undefined) {
          this.#users.set(socket, user);
          this.#notAfter.set(socket, peerNotAfter(socket));
        }
        this.#serve(socket);
      },
    );
    server.on('connection', (socket) => this.#table.accepted(socket));
    server.on('tlsClientError', (err, socket) => {
      this.#config.logger.debug('kubelet: TLS handshake failed', { err });
      socket.destroy();
    });
    this.#tls = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(listen.port, listen.host, () => {
        server.removeListener('error', reject);
        resolve();
      });
    });
  }

  /** Serves a connection whose other end is `user`. */
  handleConnection(connection: Duplex, user: ServerUser): void {
    this.#users.set(connection, user);
    this.#serve(connection);
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
    this.#table.destroyAll();
    const tls = this.#tls;
    if (tls?.listening === true) await new Promise<void>((resolve) => tls.close(() => resolve()));
  }

  #serve(connection: Duplex): void {
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
    connection.on('error', (err) => this.#config.logger.debug('kubelet: connection failed', { err }));
    this.#http.emit('connection', connection);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const refusal = this.#refusal(request.socket, request.url ?? '/');
    if (refusal !== undefined) {
      response.writeHead(refusal.code, { 'Content-Type': 'text/plain' }).end(refusal.message);
      return;
    }
    void this.#routes.handle(request, response);
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const refusal = this.#refusal(socket, request.url ?? '/');
    if (refusal !== undefined) {
      const reason = refusal.code === 401 ? 'Unauthorized' : 'Forbidden';
      socket.write(
        `HTTP/1.1 ${refusal.code} ${reason}\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(refusal.message)}\r\n\r\n${refusal.message}`,
      );
      closeConnection(socket);
      return;
    }
    void this.#routes.handleUpgrade(request, socket, head);
  }

  /** Only the API server and the cluster's masters have any business here. */
  #refusal(connection: Duplex, url: string): { readonly code: 401 | 403; readonly message: string } | undefined {
    const user = this.#users.get(connection);
    const expired = this.#config.clock.now() > (this.#notAfter.get(connection) ?? Infinity);
    if (user === undefined || expired) return { code: 401, message: 'Unauthorized' };
    const allowed = this.#config.listen?.tls.allowedUsers ?? API_SERVER_USERS;
    if (user.groups.includes(MASTERS) || allowed.includes(user.name)) return undefined;
    const path = url.split('?')[0] ?? url;
    return { code: 403, message: `Forbidden (user=${user.name}, verb=proxy, resource=nodes, subresource=proxy, path=${path})` };
  }
}

function userOf(socket: TLSSocket): ServerUser | undefined {
  if (!socket.authorized) return undefined;
  // Node's types promise a subject that an absent certificate does not have.
  const subject = (socket.getPeerCertificate() as { readonly subject?: Readonly<Record<string, string | string[]>> }).subject;
  const name = [subject?.['CN'] ?? []].flat().at(-1);
  return name === undefined ? undefined : { name, groups: [subject?.['O'] ?? []].flat() };
}
