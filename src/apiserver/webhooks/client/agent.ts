// The connections to one webhook: TLS connections that stay open between calls. The address is
// determined when a connection is opened.

import { Agent, type ClientRequest } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext } from 'node:tls';

import type { Clock } from '#machinery/clock.ts';
import { dial } from '#machinery/net/peer/index.ts';
import type { WebhookTarget } from './config.ts';
import { checkCertificateNames } from './certificate-names.ts';

/** The time in ms after which an unused connection is closed. */
const IDLE_MS = 90_000;
/** The maximum number of unused connections. */
const MAX_IDLE = 25;
/**
 * The timeout of connecting and the TLS handshake together, in ms, if the call's timeout is longer.
 */
const DIAL_TIMEOUT_MS = 30_000;

/** Returns the address to connect to for the host and port of a request. */
export type Locate = (
  target: WebhookTarget,
  host: string,
  port: number,
) => Promise<{ readonly host: string; readonly port: number }>;

export interface WebhookAgentConfig {
  readonly target: WebhookTarget;
  readonly locate: Locate;
  readonly clock: Clock;
}

/** The options that `createConnection` gets. */
interface ConnectionOptions {
  readonly host?: string | null;
  readonly port?: number | string | null;
  /** Aborts the dial. A request's own `signal` is not passed on that far. */
  readonly dialSignal?: AbortSignal;
}

type Connected = (error: Error | null, stream?: Duplex) => void;

export class WebhookAgent extends Agent {
  readonly #config: WebhookAgentConfig;
  /** Connections, with the time since when they are unused. */
  readonly #idleSince = new Map<Duplex, number>();
  #retired = false;
  #context: SecureContext | undefined;
  /** The client certificate of `#context`. */
  #presented: string | undefined;

  constructor(config: WebhookAgentConfig) {
    super({ keepAlive: true, maxFreeSockets: MAX_IDLE, scheduling: 'lifo' });
    this.#config = config;
  }

  /** Closes unused connections now, and others when their calls end. */
  retire(): void {
    this.#retired = true;
    for (const socket of this.#idleSince.keys()) socket.destroy();
  }

  /** Closes connections that have been unused for long. */
  sweep(): void {
    const since = this.#config.clock.monotonic() - IDLE_MS;
    for (const [socket, idleSince] of this.#idleSince) if (idleSince <= since) socket.destroy();
  }

  override createConnection(
    options: ConnectionOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    void this.#connectFor(options, callback as Connected | undefined);
    return undefined;
  }

  async #connectFor(options: ConnectionOptions, callback?: Connected): Promise<void> {
    let socket: Duplex;
    try {
      socket = await this.#connect(options);
    } catch (error) {
      callback?.(error as Error);
      return;
    }
    callback?.(null, socket);
  }

  override keepSocketAlive(socket: Duplex): boolean {
    if (this.#retired || !keepsAlive(super.keepSocketAlive(socket))) return false;
    if (!this.#idleSince.has(socket)) socket.once('close', () => this.#idleSince.delete(socket));
    this.#idleSince.set(socket, this.#config.clock.monotonic());
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    // A connection in use is never swept. Its entry stays, because its listener does.
    this.#idleSince.set(socket, Infinity);
    super.reuseSocket(socket, request);
  }

  async #connect({ host, port, dialSignal }: ConnectionOptions): Promise<Duplex> {
    const { target, locate, clock } = this.#config;
    const serverName = target.serverName ?? host ?? '';
    const address = await locate(target, host ?? '', Number(port));
    const dialed = {
      ...address,
      clock,
      ...(dialSignal !== undefined && { signal: dialSignal }),
      timeoutMs: DIAL_TIMEOUT_MS,
    };
    if (target.place.plain === true) return dial(dialed);
    return dial({
      ...dialed,
      tls: {
        secureContext: await this.#secureContext(),
        ALPNProtocols: ['http/1.1'],
        rejectUnauthorized: target.access?.insecureSkipTlsVerify !== true,
        // The server name must not be an IP address.
        servername: isIP(serverName) === 0 ? serverName : '',
        checkServerIdentity: (_host, certificate) => checkCertificateNames(serverName, certificate),
      },
    });
  }

  /** Returns the TLS context. A source of credentials may return another certificate later. */
  async #secureContext(): Promise<SecureContext> {
    const { access, authorities } = this.#config.target;
    const { clientCertificate, clientKey } = {
      ...access,
      ...(await access?.credentials?.current()),
    };
    if (this.#context === undefined || clientCertificate !== this.#presented) {
      this.#context = secureContext(authorities, clientCertificate, clientKey);
      this.#presented = clientCertificate;
    }
    return this.#context;
  }
}

/**
 * Returns the result of keepAlive, which Node's types do not have: false if the peer is about to
 * close the connection.
 */
function keepsAlive(result: unknown): boolean {
  return result !== false;
}

/**
 * Returns the TLS context. As in Go, every certificate in the bundle is trusted: also an
 * intermediate authority, or the server's own certificate.
 */
function secureContext(
  authorities: readonly string[] | undefined,
  cert: string | undefined,
  key: string | undefined,
): SecureContext {
  return createSecureContext({
    ...(authorities !== undefined && { ca: [...authorities], allowPartialTrustChain: true }),
    ...(cert !== undefined && { cert, key }),
  });
}
