// The connections to one webhook: TLS connections that stay open between calls. Where a connection goes to is decided when it is made.

import { Agent, type ClientRequest } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext } from 'node:tls';

import type { Clock } from '#machinery/clock.ts';
import { dial } from '#machinery/net/peer/index.ts';
import type { WebhookTarget } from './config.ts';
import { checkCertificateNames } from './certificate-names.ts';

/** A connection that no call uses is closed after this time. */
const IDLE_MS = 90_000;
/** More connections than this do not stay open without a call. */
const MAX_IDLE = 25;
/** Connecting and the TLS handshake together, if the time limit of the call is longer. */
const DIAL_TIMEOUT_MS = 30_000;

/** Returns the address to connect to for a host and port that a request names. */
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

/** What `createConnection` gets of a request. */
interface ConnectionOptions {
  readonly host?: string | null;
  readonly port?: number | string | null;
  /** Aborts the dial. A request's own `signal` does not get as far. */
  readonly dialSignal?: AbortSignal;
}

type Connected = (error: Error | null, stream?: Duplex) => void;

export class WebhookAgent extends Agent {
  readonly #config: WebhookAgentConfig;
  /** Connections without a call, and since when. */
  readonly #idleSince = new Map<Duplex, number>();
  #retired = false;
  #context: SecureContext | undefined;

  constructor(config: WebhookAgentConfig) {
    super({ keepAlive: true, maxFreeSockets: MAX_IDLE, scheduling: 'lifo' });
    this.#config = config;
  }

  /** Closes idle connections now, and others when their calls end. */
  retire(): void {
    this.#retired = true;
    for (const socket of this.#idleSince.keys()) socket.destroy();
  }

  /** Closes connections that have been idle for long. */
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
    // In use, so never swept; the key stays, since its listener does.
    this.#idleSince.set(socket, Infinity);
    super.reuseSocket(socket, request);
  }

  async #connect({ host, port, dialSignal }: ConnectionOptions): Promise<Duplex> {
    const { target, locate, clock } = this.#config;
    const serverName = target.serverName ?? host ?? '';
    const address = await locate(target, host ?? '', Number(port));
    this.#context ??= secureContext(target.authorities);
    return dial({
      ...address,
      clock,
      ...(dialSignal !== undefined && { signal: dialSignal }),
      timeoutMs: DIAL_TIMEOUT_MS,
      tls: {
        secureContext: this.#context,
        ALPNProtocols: ['http/1.1'],
        // An address is no server name.
        servername: isIP(serverName) === 0 ? serverName : '',
        checkServerIdentity: (_host, certificate) => checkCertificateNames(serverName, certificate),
      },
    });
  }
}

/** Node's types do not have the result, which is false for a peer that is about to close the connection. */
function keepsAlive(result: unknown): boolean {
  return result !== false;
}

/** As in Go, whatever is in the bundle is trusted: also an intermediate authority, or the server's own certificate. */
function secureContext(authorities: readonly string[] | undefined): SecureContext {
  return createSecureContext(
    authorities === undefined ? {} : { ca: [...authorities], allowPartialTrustChain: true },
  );
}
